# The real llama-server takes every grammar that we emit, and what it samples under each is inside it.
start_all()
serving(machine)

with subtest("every grammar of the cases, the example machine and the catalogues"):
    found = inside(machine, "grammars", "--each 1" if SHORT else "--each 20")
    log(
        f"{found['engine']}: {found['grammars']} grammars of {found['subjects']} catalogues, {found['sampled']} samples"
    )
    assert found["refused"] == [], f"a grammar that the engine refuses is a request that fails: {found['refused']}"
    assert found["subjects"] >= 40, f"most of the catalogues were not there: {found['subjects']}"
    assert found["sampled"] >= found["subjects"], "each catalogue has a sample"
    assert found["wrong"] == [], (
        f"a sample left its grammar, doesn't parse, or names what is on no list: {found['wrong']}"
    )
