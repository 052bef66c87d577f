"""`python -m tacid` is the command `tacid`."""

from tacid.cli.main import main

main()
