# A service that isn't on the machine's list can't be sampled, however much asks for it; the list may change at any time.
FORBIDDEN = "tacid-testd"
LIST = "/etc/tacid-system/services.json"

start_all()
serving(machine)
before = json.loads(machine.succeed(f"cat {LIST}"))
listed = {entry if isinstance(entry, str) else entry["name"] for entry in before["services"]}
assert FORBIDDEN not in listed, "the name that is begged for has to be one that the list doesn't have"

with subtest("begged for in prompt and description, pushed by logit_bias, at temperature 2"):
    found = inside(machine, "begging", f"{16 if SHORT else 3000} {FORBIDDEN}")
    log(f"{found['sampled']} samples: {found['named']}")
    assert found["wrong"] == [], f"a name was sampled that is on no list: {found['wrong']}"
    assert sum(found["named"].values()) > 0, "samples that name no service show nothing"
    assert set(found["named"]) <= listed, f"names that are on no list: {set(found['named']) - listed}"

with subtest("the same of the running gateway"):
    found = inside(machine, "live", f"{4 if SHORT else 200} {FORBIDDEN}")
    log(f"{found['generations']} generations: {found['named']}")
    assert sum(found["named"].values()) > 0, f"proposals that name no service show nothing: {found['texts']}"
    assert set(found["named"]) <= listed, f"names that are on no list: {set(found['named']) - listed}"

with subtest("the list changes on the live machine: the new name is possible, the old ones are not"):
    write(machine, LIST, json.dumps({"version": 1, "services": [FORBIDDEN]}))
    found = inside(machine, "live", f"{4 if SHORT else 200} {FORBIDDEN}")
    log(f"{found['generations']} generations: {found['named']}")
    assert set(found["named"]) == {FORBIDDEN}, f"the new list has this one name, and sampled were {found['named']}"

with subtest("and back again"):
    write(machine, LIST, json.dumps(before))
    found = inside(machine, "live", f"{2 if SHORT else 50} {FORBIDDEN}")
    assert FORBIDDEN not in found["named"], "the name was taken off the list, and was sampled all the same"
