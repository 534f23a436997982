# shellcheck shell=bash
# Debian suites unpacked into private folders: root/<suite>. A private apt (own lists, own cache, empty dpkg status) resolves
# and downloads, with hashes and signatures checked; the packages are unpacked and no maintainer script runs. The host's own
# packages, apt and accounts are not touched.

# Not needed to run a server: compilers, perl, documentation, what belongs to maintainer scripts and to service managers.
not_unpacked='^(libllvm[0-9].*|libz3-4|postgresql-common.*|postgresql-client-common|perl|perl-modules.*|libperl5.*|lib.*-perl|ssl-cert|adduser|passwd|debconf|ucf|locales|libc-l10n|openssl|systemd|libsystemd-shared|lsb-base|sysvinit-utils|init-system-helpers|logrotate|cron|cron-daemon-common|mailcap|mime-support|media-types|sensible-utils|psmisc|python3.*|libpython3.*|tar|gpgv|apt|netbase)$'
basic_packages='base-files dash coreutils libc-bin'

apt_sources() { # suite -> sources.list on stdout, from the mirrors this machine already uses
  local suite=$1 repositories mirror security signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
  repositories=$(apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Identifier: Packages' | sort -u)
  mirror=$(grep -m1 -E '/debian/?$' <<<"$repositories") || { log "this machine's apt sources name no Debian mirror"; return 1; }
  echo "deb $signed $mirror $suite main"
  case $suite in bullseye|bookworm|trixie)
    security=$(grep -m1 -E 'debian-security/?$' <<<"$repositories") && echo "deb $signed $security $suite-security main";; esac
  return 0
}

apt_configuration() { # folder -> apt.conf on stdout
  local folder=$1 architecture
  architecture=$(dpkg --print-architecture)
  # The host's proxies and certificates, so that the private apt gets through where the host's own does.
  apt-config dump --format '%F "%v";%n' | grep -E '^Acquire::https?::' || true
  cat <<CONF
Dir::Etc "$folder/etc/";
Dir::Etc::sourcelist "$folder/etc/sources.list";
Dir::Etc::sourceparts "$folder/etc/sources.list.d/";
Dir::Etc::Parts "$folder/etc/apt.conf.d/";
Dir::Etc::netrc "/etc/apt/auth.conf";
Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
Dir::State "$folder/";
Dir::State::lists "$folder/lists/";
Dir::State::status "$folder/dpkg/status";
Dir::Cache "$folder/cache/";
Dir::Cache::archives "$folder/cache/archives/";
Dir::Cache::srcpkgcache "";
Dir::Log "$folder/log";
APT::Architecture "$architecture";
APT::Architectures {"$architecture";};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
// A mirror's copy of a development suite may be older than its Valid-Until says. Signatures are still checked.
Acquire::Min-ValidTime "31536000";
CONF
}

prepare_apt() { # suite
  local suite=$1 folder=$home/apt/$1
  [ ! -e "$folder/ready" ] || return 0
  mkdir -p "$folder"/{lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d,dpkg,log}
  chmod 700 "$folder/etc"     # a mirror's address may carry a password
  : >"$folder/dpkg/status"
  apt_sources "$suite" >"$folder/etc/sources.list" || return 1
  apt_configuration "$folder" >"$folder/apt.conf" || return 1
  APT_CONFIG=$folder/apt.conf apt-get -qq update && : >"$folder/ready"
}

unpack() { # root deb...
  local root=$1 deb; shift
  for deb in "$@"; do
    [ ! -e "$root/.unpacked/${deb##*/}" ] || continue
    dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -x -p --keep-directory-symlink --exclude=./usr/share/doc \
      --exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/info || return 1
    : >"$root/.unpacked/${deb##*/}"
  done
}

complete_root() { # root: what maintainer scripts would have made
  local root=$1
  mkdir -p "$root"/{proc,dev,tmp,run,etc,var/tmp}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  [ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
}

root_has() { # suite package...
  local package suite=$1; shift
  for package in "$@"; do [ -e "$home/root/$suite/.unpacked/package-$package" ] || return 1; done
}

prepare_root() { # suite package...
  local suite=$1 folder=$home/apt/$1 root=$home/root/$1 start closure package; shift
  ! root_has "$suite" "$@" || return 0
  start=$(milliseconds)
  prepare_apt "$suite" || return 1
  # shellcheck disable=SC2086
  closure=$(APT_CONFIG=$folder/apt.conf apt-get -s install $basic_packages "$@" |
    awk -v skip="$not_unpacked" '/^Inst / && $2 !~ skip { sub(/^\(/, "", $3); print $2 "=" $3 }')
  [ -n "$closure" ] || { log "$suite: apt cannot resolve $*"; return 1; }
  # shellcheck disable=SC2086
  (cd "$folder/cache/archives" && APT_CONFIG=$folder/apt.conf apt-get -qq download $closure) || return 1
  mkdir -p "$root/.unpacked"
  # base-files first: it brings the /bin and /lib links that the others unpack through.
  unpack "$root" "$folder"/cache/archives/base-files_*.deb "$folder"/cache/archives/*.deb || return 1
  complete_root "$root"
  for package in "$@"; do : >"$root/.unpacked/package-$package"; done
  rm -f "$folder"/cache/archives/*.deb
  log "prepared $suite: $* ($(($(milliseconds) - start)) ms)"
}
