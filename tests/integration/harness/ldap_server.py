# SPDX-License-Identifier: MIT
"""
An OpenLDAP server on 127.0.0.1, in a folder of its own. The packages are unpacked into the cache: they would start a
service.
"""
import glob
import os
import shutil
import subprocess
import tempfile

from .certificates import Authority
from .packages import unpacked
from .process import Process, free_ports, wait_until

_PACKAGES = ("slapd", "ldap-utils", "libodbc2", "libltdl7", "libwrap0")
BASE = "dc=example,dc=org"
ROOT = f"cn=root,{BASE}"
ACCOUNT = f"cn=shardwheel,ou=accounts,{BASE}"
PASSWORD = "of the account"

# What Active Directory says of itself: shardwheel then asks by its matching rule.
_CAPABILITIES = """
attributetype ( 1.2.840.113556.1.4.1458 NAME 'supportedCapabilities' EQUALITY objectIdentifierMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.38 )
"""

_ROOT_DSE = "dn:\nsupportedCapabilities: 1.2.840.113556.1.4.800\n"

_CONFIG = """
include {home}/etc/ldap/schema/core.schema
include {home}/etc/ldap/schema/cosine.schema
include {home}/etc/ldap/schema/nis.schema
include {home}/etc/ldap/schema/inetorgperson.schema
{capabilities}
pidfile {folder}/slapd.pid
argsfile {folder}/slapd.args
modulepath {home}/usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.pem
{more}
database mdb
suffix "{base}"
rootdn "{root}"
rootpw secret
directory {folder}/data
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=hidden,{base}" by * none
access to * by dn.exact="{account}" read by * none
"""

_FIRST = """
dn: {base}
objectClass: domain
dc: example

dn: ou=accounts,{base}
objectClass: organizationalUnit
ou: accounts

dn: ou=people,{base}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{base}
objectClass: organizationalUnit
ou: groups

dn: ou=hidden,{base}
objectClass: organizationalUnit
ou: hidden

dn: {account}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: shardwheel
userPassword: {password}
"""


def home():
    """The folder with the unpacked packages."""
    return unpacked("slapd", _PACKAGES)


def person(name, place="people"):
    return f"uid={name},ou={place},{BASE}"


def group(name):
    return f"cn={name},ou=groups,{BASE}"


class LdapServer:
    """`ca`: the file with its authority's certificate. `hosts`: what its certificate is for."""

    def __init__(self, hosts=("127.0.0.1", "localhost"), like_ad=False, more="", days=1):
        self.folder = tempfile.mkdtemp(prefix="swldap-")
        self.port, self.tls_port = (ports := free_ports(2)), ports + 1
        self.authority = Authority(self.folder)
        self.ca = self.authority.ca
        shutil.copy(self.authority.issue("ldap", *hosts, days=days), os.path.join(self.folder, "server.pem"))
        os.makedirs(os.path.join(self.folder, "data"))
        if like_ad:
            more += "\nrootDSE " + self._write("root.ldif", _ROOT_DSE)
        config = self._write("slapd.conf", _CONFIG.format(
            home=home(), folder=self.folder, base=BASE, root=ROOT, account=ACCOUNT, more=more,
            capabilities=_CAPABILITIES if like_ad else ""))
        libraries = os.path.dirname(glob.glob(os.path.join(home(), "usr", "lib", "*", "libwrap.so.0"))[0])
        self._env = {**os.environ, "LD_LIBRARY_PATH": libraries, "LDAPNOINIT": "1"}
        self.process = Process("slapd", [
            f"{home()}/usr/sbin/slapd", "-d", "stats", "-f", config,
            "-h", f"ldap://127.0.0.1:{self.port}/ ldaps://127.0.0.1:{self.tls_port}/",
        ], os.path.join(self.folder, "slapd.log"), env=self._env)
        self.url, self.tls_url = f"ldap://127.0.0.1:{self.port}", f"ldaps://127.0.0.1:{self.tls_port}"

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def start(self):
        fresh = not os.listdir(os.path.join(self.folder, "data"))
        self.process.start()
        wait_until(lambda: self.tool("ldapsearch", "-s", "base", "-b", ""), 20,
                   f"slapd to be up\n{self.process.tail(20)}")
        if fresh:
            self.change(_FIRST.format(base=BASE, account=ACCOUNT, password=PASSWORD))
        return self

    def tool(self, name, *args, text=None):
        """Runs one of ldap-utils as the root of the directory."""
        done = subprocess.run([f"{home()}/usr/bin/{name}", "-x", "-H", self.url, "-D", ROOT, "-w", "secret", *args],
                              input=text, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"{name} {args}: {done.stdout}"
        return done.stdout or " "

    def change(self, ldif):
        """Entries are added, unless they say changetype."""
        self.tool("ldapmodify", "-a", text=ldif)

    def add_person(self, name, password, place="people", more=""):
        self.change(f"dn: {person(name, place)}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
                    f"userPassword: {password}\n{more}\n")
        return person(name, place)

    def add_group(self, name, *members):
        self.change(f"dn: {group(name)}\nobjectClass: groupOfNames\ncn: {name}\n"
                    + "".join(f"member: {member}\n" for member in members))
        return group(name)

    def remove(self, dn):
        self.tool("ldapdelete", dn)

    def settings(self, tls=True, **more):
        """Of a node that asks this server; names of `more` without their prefix and with _ for -."""
        settings = {"url": self.tls_url if tls else self.url, "ca-file": self.ca, "base-dn": BASE, "bind-dn": ACCOUNT,
                    "bind-password": PASSWORD, **{key.replace("_", "-"): value for key, value in more.items()}}
        return {f"shardwheel.ldap.{key}": value for key, value in settings.items() if value is not None}

    def stop(self):
        self.process.kill()

    def destroy(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
