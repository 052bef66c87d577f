# Ends an engine's start with a sentence where llama-server sees no card of the kind that was asked for.
{
  pkgs,
  server,
  card,
  engine,
}:
pkgs.writeShellScript "tacid-card" ''
  seen=$(${server} --list-devices 2>&1)
  case $seen in *${card.seen}[0-9]*) exit 0 ;; esac
  echo "${engine.option} asks for acceleration by ${engine.acceleration}, and llama-server sees no such card:" >&2
  echo "$seen" >&2
  exit 1
''
