# A machine boots without any network, both units run, and a client of either protocol gets a call.
start_all()

with subtest("there is no network device"):
    links = machine.succeed("ls /sys/class/net").split()
    assert links == ["lo"], f"the machine has to work without a network, and it has {links}"

with subtest("both units are active, and the gateway is ready"):
    serving(machine)
    for unit in ("tacid.service", "tacid-engine.service"):
        restarts = machine.get_unit_property(unit, "NRestarts")
        assert restarts == "0", f"{unit} was started {restarts} times more than it should have been"

with subtest("OpenAI: a call"):
    status, reply = asked(
        machine,
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": "Light on in the hall, please."}],
            "tools": [LIGHT],
            "tool_choice": {"type": "function", "function": {"name": "light_set"}},
            "max_tokens": 200,
        },
    )
    assert status == 200, f"a first call must work without anything having been set up: {status} {reply}"
    function = reply["choices"][0]["message"]["tool_calls"][0]["function"]
    arguments = json.loads(function["arguments"])
    assert function["name"] == "light_set", "the one tool that was asked for is the only one that can be sampled"
    assert arguments["room"] in ("hall", "kitchen"), f"a room that the schema doesn't have was sampled: {arguments}"
    assert type(arguments["on"]) is bool, f"a boolean was sampled as something else: {arguments}"

with subtest("Ollama: a reply held to a schema"):
    _, tags = asked(machine, "/api/tags")
    status, reply = asked(
        machine,
        "/api/chat",
        {
            "model": tags["models"][0]["name"],
            "messages": [{"role": "user", "content": "Is it on?"}],
            "format": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
            "stream": False,
            "options": {"num_predict": 100},
        },
    )
    assert status == 200, f"Ollama's clients are served as well: {status} {reply}"
    assert set(json.loads(reply["message"]["content"])) == {"on"}, f"the format was not held: {reply}"
