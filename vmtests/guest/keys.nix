# A key that is made when the guest starts: what is written here would lie in the store, where no secret belongs.
{
  services.tacid.apiKeysFile = "/etc/tacid/keys";

  systemd.services.tests-key = {
    requiredBy = [ "tacid.service" ];
    before = [ "tacid.service" ];
    serviceConfig.Type = "oneshot";
    serviceConfig.RemainAfterExit = true;
    script = ''
      umask 077
      echo "tests:$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')" >/etc/tacid/keys
    '';
  };
}
