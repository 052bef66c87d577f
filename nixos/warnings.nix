# What a person should hear, although it is no error.
{ lib, cfg, ... }:
lib.optional (cfg.services == [ ]) ''
  services.tacid.services is an empty list, so any name of a service can be proposed; name some, or leave the option out.
''
