"""The Debian under a guest: its tree, made by mmdebstrap, as a disk; its kernel; and a small initrd of our own."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vmtests import cache
from vmtests.errors import VmError

#: What every guest has, whatever is tried in it. systemd loads its libraries for system calls and mounts only if there.
_COMMON = (
    "systemd", "systemd-sysv", "dbus", "libnss-systemd", "libseccomp2", "libkmod2", "libacl1", "libmount1",
    "mount", "kmod", "iproute2", "procps", "curl", "busybox-static",
)  # fmt: skip
#: Packages of each kind of guest. Python is the one that tacid supports and that suite has.
PACKAGES = {
    "sid": (*_COMMON, "python3.13", "llama.cpp-tools"),
    "trixie": (*_COMMON, "python3", "libgomp1", "libstdc++6"),
}
#: Modules that are needed until the disk is mounted, and the network card, which is set up before systemd runs.
_MODULES = ("virtio_pci", "virtio_blk", "ext4", "virtio_console", "virtio_net", "virtio_rng", "overlay")
#: Units that no script looks at and that take half of an emulated boot.
_NOT_NEEDED = (
    "apt-daily-upgrade.timer", "apt-daily.timer", "console-getty.service", "dev-hugepages.mount", "dev-mqueue.mount",
    "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@.service",
    "kmod-static-nodes.service", "ldconfig.service", "modprobe@.service", "motd-news.timer", "serial-getty@.service",
    "sys-fs-fuse-connections.mount", "sys-kernel-config.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount",
    "systemd-binfmt.service", "systemd-firstboot.service", "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service", "systemd-logind.service", "systemd-machine-id-commit.service",
    "systemd-modules-load.service", "systemd-network-generator.service", "systemd-networkd-persistent-storage.service",
    "systemd-networkd-wait-online.service", "systemd-networkd.service", "systemd-sysctl.service",
    "systemd-timesyncd.service", "systemd-udev-load-credentials.service", "systemd-update-done.service",
)  # fmt: skip
#: Bytes of the disk; the file is sparse.
_DISK = 1_500_000_000
#: Seconds that making the tree may take.
_PATIENCE = 900

#: Within mmdebstrap, while apt's lists are still there. The kernel is unpacked, not installed: its package would draw
#: in another initrd's tools and run them.
_KERNEL_HOOK = r"""
cd "$1/tmp"
chroot "$1" sh -eu -c 'cd /tmp; apt-get -qq download $(apt-cache depends --recurse --no-recommends --no-suggests \
  --no-conflicts --no-breaks --no-replaces --no-enhances linux-image-cloud-amd64 |
  grep -E "^linux-(image|binary|modules)-[0-9].*-cloud-amd64$")' >&2
for package in linux-*.deb; do dpkg-deb -x "$package" "$1"; rm "$package"; done
chroot "$1" depmod "$(ls "$1/usr/lib/modules" | head -n 1)"
"""

_INIT = r"""#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
for m in $($b cat /modules/order); do $b insmod /modules/$m || echo "initrd: $m won't load"; done
said() { for w in $($b cat /proc/cmdline); do case $w in $1=*) echo "${w#*=}";; esac; done; }
if [ "$(said tacid.probe)" ]; then echo "tacid: alive"; $b poweroff -f; fi
n=0
while [ ! -b /dev/vda ] && [ $n -lt 100 ]; do $b sleep 0.1; n=$((n+1)); done
$b mount -t ext4 -o rw /dev/vda /root || { echo "initrd: no disk"; $b poweroff -f; }
if [ -b /dev/vdb ]; then
  $b mkdir -p /root/opt/payload
  $b mount -t ext4 -o ro /dev/vdb /root/opt/payload
fi
# On a fresh disk: what an installation and a person would have put there.
if [ ! -e /root/etc/settled ]; then
  for from in /root/opt/payload/root /extra; do if [ -d $from ]; then $b cp -a $from/. /root/; fi; done
  : > /root/etc/settled
fi
hostname=$(said tacid.name)
[ -n "$hostname" ] && echo "$hostname" > /root/etc/hostname
address=$(said tacid.address)
if [ -n "$address" ]; then $b ip link set eth0 up; $b ip addr add "$address" dev eth0; fi
echo "127.0.0.1 localhost" > /root/etc/hosts
for pair in $(said tacid.hosts | $b tr , ' '); do echo "${pair%%=*} ${pair#*=}" >> /root/etc/hosts; done
$b umount /sys
$b umount /proc
$b mount --move /dev /root/dev
exec $b switch_root /root /sbin/init
"""

#: A root shell for the tests on the virtio console: one line asks, one line answers.
_AGENT = r"""#!/bin/bash
# In: seconds, then a script in base64. Out: "tacid-vm", its exit status, its standard output in base64.
exec 3<>/dev/hvc0
stty -F /dev/hvc0 raw -echo
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd /root
echo "tacid-vm ready" >&3
while read -r -u 3 seconds script; do
  base64 -d <<<"$script" >/run/tacid-vm-script
  timeout --signal=KILL "$seconds" bash -o pipefail /run/tacid-vm-script \
    </dev/null 3>&- >/run/tacid-vm-out 2>/dev/console
  status=$?
  echo "tacid-vm $status $(base64 -w0 /run/tacid-vm-out)" >&3
done
"""

_AGENT_UNIT = """[Unit]
Description=A root shell for the tests
DefaultDependencies=no
After=systemd-remount-fs.service
Conflicts=shutdown.target
Before=shutdown.target

[Service]
ExecStart=/usr/local/sbin/tacid-vm-agent
KillMode=process
OOMScoreAdjust=-1000
Restart=always
StandardOutput=tty
TTYPath=/dev/console

[Install]
WantedBy=sysinit.target
"""


@dataclass(frozen=True, slots=True)
class Base:
    """What a guest boots from; ``tree`` is the same as ``disk``, to run programs of it on this machine."""

    suite: str
    disk: Path
    kernel: Path
    initrd: Path
    tree: Path


def base(suite: str) -> Base:
    """The Debian of a suite, made here or kept from the last time. Raises ``VmError``."""
    packages = PACKAGES[suite]
    made_from = {
        "suite": suite, "packages": packages, "modules": _MODULES, "init": _INIT, "hook": _KERNEL_HOOK,
        "agent": [_AGENT, _AGENT_UNIT], "disk": _DISK, "not needed": _NOT_NEEDED, "settled": 3,
    }  # fmt: skip
    folder = cache.made("base", made_from, lambda unfinished: _make(unfinished, suite, packages))
    return Base(suite, folder / "disk.raw", folder / "kernel", folder / "initrd", folder / "tree")


def _make(folder: Path, suite: str, packages: tuple[str, ...]) -> None:
    tree = folder / "tree"
    run(
        "mmdebstrap", "--quiet", "--variant=apt", "--mode=root",
        # What a mirror of a moving suite has may be weeks old; it is signed all the same.
        '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=APT::Install-Recommends "false"',
        "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale", "info")),
        f"--include={','.join(packages)}", f"--customize-hook={_KERNEL_HOOK}", suite, str(tree),
    )  # fmt: skip
    _settle(tree)
    version = next((tree / "usr/lib/modules").iterdir()).name
    # Newer kernel packages have it beside the modules.
    kernels = (tree / f"boot/vmlinuz-{version}", tree / f"usr/lib/modules/{version}/vmlinuz")
    shutil.copy(next(path for path in kernels if path.exists()), folder / "kernel")
    shutil.rmtree(tree / "boot")
    (tree / "boot").mkdir()
    (folder / "initrd").write_bytes(gzip.compress(_initrd(tree, version), 1))
    disk = folder / "disk.raw"
    with disk.open("wb") as file:
        file.truncate(_DISK)
    run(
        "mke2fs",
        "-q",
        "-t",
        "ext4",
        "-E",
        "lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0",
        "-d",
        str(tree),
        str(disk),
    )


def _settle(tree: Path) -> None:
    """What makes a tree a machine for tests: the agent, a console that says everything, nothing that waits."""
    # Not a first boot, with all that systemd does then.
    (tree / "etc/machine-id").write_text("7ac1d000000000000000000000000001\n", encoding="ascii")
    for updated in ("etc/.updated", "var/.updated"):
        (tree / updated).write_text("# by vmtests\nTIMESTAMP_NSEC=4102444800000000000\n", encoding="ascii")
    (tree / "etc/fstab").write_text("", encoding="ascii")
    agent = tree / "usr/local/sbin/tacid-vm-agent"
    agent.parent.mkdir(parents=True, exist_ok=True)
    agent.write_text(_AGENT, encoding="ascii")
    agent.chmod(0o755)
    units = tree / "etc/systemd/system"
    (units / "tacid-vm-agent.service").write_text(_AGENT_UNIT, encoding="ascii")
    (units / "sysinit.target.wants").mkdir(parents=True, exist_ok=True)
    (units / "sysinit.target.wants/tacid-vm-agent.service").symlink_to("../tacid-vm-agent.service")
    (units / "default.target").unlink(missing_ok=True)
    (units / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
    for unit in _NOT_NEEDED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    # A power cut must find in the journal on the disk what was written just before.
    journald = tree / "etc/systemd/journald.conf.d/vm.conf"
    journald.parent.mkdir(parents=True, exist_ok=True)
    journald.write_text("[Journal]\nStorage=persistent\nSyncIntervalSec=5s\nRateLimitBurst=0\n", encoding="ascii")
    (tree / "var/log/journal").mkdir(parents=True, exist_ok=True)


def _initrd(tree: Path, version: str) -> bytes:
    """A cpio archive: busybox, the modules in the order in which they load, and a script."""
    files = {"bin/busybox": (0o755, (tree / "usr/bin/busybox").read_bytes()), "init": (0o755, _INIT.encode())}
    order: list[str] = []
    for path in _module_paths(tree, version):
        name = path.name.removesuffix(".xz").removesuffix(".zst")
        files[f"modules/{name}"] = (0o644, _unpacked(path))
        order.append(name)
    files["modules/order"] = (0o644, "\n".join(order).encode())
    out = bytearray()
    for directory in ("bin", "dev", "proc", "sys", "root", "modules"):
        out += _cpio(directory, 0o040755, b"")
    out += _cpio("dev/console", 0o020600, b"", device=(5, 1))
    for name, (mode, data) in files.items():
        out += _cpio(name, 0o100000 | mode, data)
    return bytes(out + _cpio("TRAILER!!!", 0, b""))


def initrd_with(initrd: Path, files: Mapping[str, str], links: Mapping[str, str]) -> bytes:
    """An initrd that lays files and links (by absolute path) onto a fresh disk; all belong to root."""
    folders: dict[str, None] = {"extra": None}
    for name in (*files, *links):
        for parent in reversed(Path(f"extra{name}").parents[:-1]):
            folders[str(parent)] = None
    out = bytearray()
    for folder in folders:
        out += _cpio(folder, 0o040755, b"")
    for name, text in files.items():
        mode = 0o600 if "/keys" in name else 0o644
        out += _cpio(f"extra{name}", 0o100000 | mode, text.encode())
    for name, target in links.items():
        out += _cpio(f"extra{name}", 0o120777, target.encode())
    # The kernel reads archives one after the other; each begins at a multiple of four.
    first = initrd.read_bytes()
    return bytes(first + bytes(-len(first) % 4) + out + _cpio("TRAILER!!!", 0, b""))


def _module_paths(tree: Path, version: str) -> list[Path]:
    """The modules and what they need, each after its needs; those that are built in aren't there and aren't needed."""
    root = tree / "usr/lib/modules" / version
    needs: dict[str, list[str]] = {}
    for line in (root / "modules.dep").read_text(encoding="ascii").splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    by_name = {Path(path).name.split(".")[0].replace("-", "_"): path for path in needs}
    ordered: dict[str, None] = {}

    def add(path: str) -> None:
        for needed in needs[path]:
            if needed not in ordered:
                add(needed)
        ordered[path] = None

    for name in (*_MODULES, "crc32c_generic", "crc32c_cryptoapi"):
        if name in by_name:
            add(by_name[name])
    return [root / path for path in ordered]


def _unpacked(path: Path) -> bytes:
    tools = {".xz": "xz", ".zst": "zstd"}
    if path.suffix not in tools:
        return path.read_bytes()
    return subprocess.run([tools[path.suffix], "-dc", str(path)], check=True, capture_output=True).stdout


def _cpio(name: str, mode: int, data: bytes, *, device: tuple[int, int] = (0, 0)) -> bytes:
    """One member in the form "newc" (its header's fields: inode, mode, owner, group, links, time, size, …)."""
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + "".join(f"{field:08x}" for field in fields).encode() + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def run(*command: str, patience: float = _PATIENCE, cwd: Path | None = None) -> str:
    """Run a program of this machine; its output. Raises ``VmError`` with its last words."""
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=patience, cwd=cwd,
            env={**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1700000000"},
        )  # fmt: skip
    except FileNotFoundError:
        raise VmError(f"{command[0]} is not installed; docs/vmtests.md names the packages.") from None
    except subprocess.TimeoutExpired:
        raise VmError(f"{command[0]} took more than {time.monotonic() - begun:.0f} seconds and was ended.") from None
    if done.returncode != 0:
        raise VmError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout


__all__ = ["Base", "base", "initrd_with", "run"]
