"""Machines that boot: runs the scripts beside it in Debian guests, as the NixOS test driver does in NixOS guests."""
