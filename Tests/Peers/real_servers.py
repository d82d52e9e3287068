"""Real servers, on files of their own making, each with a port of its own.

Prints {"ca": PATH, "ports": {NAME: PORT}} with the servers below that are installed:

    caddy      HTTP/1.1, HTTP/2 and, over UDP, HTTP/3, which it names in Alt-Svc
    caddy-tcp  HTTP/1.1 and HTTP/2; names HTTP/3 at its own port in Alt-Svc too, where no server listens
    nghttpd    HTTP/2
    nginx      HTTP/1.1 and HTTP/2; asks for a client certificate; /proxy.pac is a script that names a dead proxy and squid
    nginx-names  the servers one.example, with all names below it, and two.example, each with a chain of its own through an intermediate
    nginx-plain  every name, without TLS
    tinyproxy  an HTTP proxy that lets ada with the password s3cret through, to the ports of the others
    squid      an HTTP proxy that lets ada through, with Basic and Digest authentication, to every port but 9
    squid-tls  the same over TLS
    microsocks a SOCKS5 proxy that lets ada with the password s3cret through
               socat connects the Unix domain socket socks.sock, in the folder of the authority, with it
    danted     a SOCKS4 and SOCKS5 proxy without authentication, that connects to the ports of the others only
    ssh        OpenSSH's SOCKS4, SOCKS4a and SOCKS5 proxy without authentication; sshd makes its connections

The other servers have /small (11 bytes), /middle and /large (2 and 8 MiB, of which byte n is n modulo 251); caddy's
/proxy-authorization is that field of the request, in brackets. nginx has /client, with the version of TLS, whether the client's
certificate is good, and its subject, and sends requests for /to/PORT/PATH on to /PATH of that port, without TLS,
with the protocol in the field X-Protocol. nginx and caddy send requests to switch protocols for /switch/PORT/PATH in the
same way. The servers of names respond with the scheme, the host of the request and that of the handshake. For one.example they ask for
https (HSTS), but /forget takes that back. They are at the Unix domain sockets nginx.sock and, two.example with TLS, nginx-tls.sock too, in
the folder of the authority. A client certificate for ada@example.com is in client.pem, in the folder of the authority.
"""

import asyncio
import ctypes
import hashlib
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess

import peer
from certificates import Authority

CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2 h3
    }}
    servers 127.0.0.1:{tcp_port} {{
        protocols h1 h2
    }}
}}
https://127.0.0.1:{tcp_port}, https://localhost:{tcp_port} {{
    bind 127.0.0.1
    tls {chain} {key}
    root * {folder}
    header Alt-Svc `h3=":{tcp_port}"; ma=3600`
    file_server
}}
https://127.0.0.1:{port}, https://localhost:{port} {{
    bind 127.0.0.1
    tls {chain} {key}
    root * {folder}
    respond /proxy-authorization "[{{header.Proxy-Authorization}}]"
    @switch path_regexp switch ^/switch/([0-9]+)(/.*)$
    handle @switch {{
        rewrite * {{re.switch.2}}
        reverse_proxy 127.0.0.1:{{re.switch.1}}
    }}
    file_server
}}
"""

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {chain};
        ssl_certificate_key {key};
        ssl_client_certificate {ca};
        ssl_verify_client optional;
        root {folder};
        location = /client {{
            return 200 "$ssl_protocol $ssl_client_verify $ssl_client_s_dn";
        }}
        location ~ ^/to/([0-9]+)(/.*)$ {{
            proxy_set_header X-Protocol "$server_protocol $ssl_protocol";
            proxy_pass http://127.0.0.1:$1$2$is_args$args;
        }}
        location ~ ^/switch/([0-9]+)(/.*)$ {{
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_pass http://127.0.0.1:$1$2$is_args$args;
        }}
    }}
    server {{
        listen 127.0.0.1:{names_port} ssl http2 default_server;
        server_name one.example *.one.example;
        ssl_certificate {one_chain};
        ssl_certificate_key {one_key};
        add_header Strict-Transport-Security "max-age=3600; includeSubDomains" always;
        location = /forget {{
            add_header Strict-Transport-Security "max-age=0" always;
            return 200 "forgotten";
        }}
        location / {{
            return 200 "$scheme $host $ssl_server_name";
        }}
    }}
    server {{
        listen 127.0.0.1:{names_port} ssl http2;
        listen unix:{socket_folder}/nginx-tls.sock ssl http2;
        server_name two.example;
        ssl_certificate {two_chain};
        ssl_certificate_key {two_key};
        location / {{
            return 200 "$scheme $host $ssl_server_name";
        }}
    }}
    server {{
        listen 127.0.0.1:{plain_port};
        listen unix:{socket_folder}/nginx.sock;
        add_header Strict-Transport-Security "max-age=3600; includeSubDomains" always;
        location / {{
            return 200 "$scheme $host ";
        }}
    }}
}}
"""

TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 60
Allow 127.0.0.1
BasicAuth ada s3cret
{ports}
"""

# The last lines of the configuration of squid in all tests: no other files, no process for pings, and an end without a delay.
SQUID_QUIET = """\
cache_log /dev/null
cache_store_log none
netdb_filename none
pid_filename none
shutdown_lifetime 0 seconds
pinger_enable off
via on
"""

SQUID = """
http_port 127.0.0.1:{port}
https_port 127.0.0.1:{tls_port} tls-cert={folder}/chain.pem tls-key={folder}/chain.pem
auth_param digest program /usr/lib/squid/digest_file_auth -c {folder}/digest
auth_param digest realm trellis
auth_param digest children 1
auth_param basic program /usr/lib/squid/basic_ncsa_auth {folder}/passwords
auth_param basic realm trellis
auth_param basic children 1
acl users proxy_auth REQUIRED
acl forbidden port 9
http_access deny !users
http_access deny forbidden
http_access allow all
cache deny all
cache_mem 8 MB
access_log none
""" + SQUID_QUIET

PAC = "function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:9; PROXY 127.0.0.1:%d' }"

SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding local
"""

DANTE = """
logoutput: {folder}/danted.log
internal: 127.0.0.1 port = {port}
external: lo
clientmethod: none
socksmethod: none
user.privileged: {user}
user.unprivileged: {user}
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
{rules}
socks block {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
"""

# The sockets whose names tell other peers which ports are taken.
MARKS = []


def free_port():
    """Returns a port that is free for TCP and UDP, and that no other peer gets while this process lives.

    Its number is below those that the system gives to connections, and to servers that ask for any port.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first = int(file.read().split()[0])
    while True:
        port = random.randrange(10000, first if first > 12000 else 32768)
        mark = socket.socket(socket.AF_UNIX)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                mark.bind(f"\0trellis-peer-{port}")
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
            except OSError:
                mark.close()
                continue  # Another program uses the port, or another peer has it.
        MARKS.append(mark)
        return port


def start(*command, folder, user=None, ending=signal.SIGKILL):
    """Starts a server that ends with this process, however this process ends, as a user if this process is that of root; returns it.

    The server gets the signal `ending`: a server with processes of its own must be able to end them.
    """
    entry = pwd.getpwnam(user) if user and os.geteuid() == 0 else None

    def end_with_parent():
        # A change of the user would revoke the order to end.
        if entry:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
        ctypes.CDLL(None).prctl(1, ending)  # PR_SET_PDEATHSIG

    environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
    with open(os.path.join(folder, "log"), "ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=end_with_parent
        )


def squid(configuration):
    """Returns the command that runs squid, which refuses to run as root.

    Its memory has a name of its own in /dev/shm: squid makes it anew, also if another squid uses the name.
    """
    name = "trellis" + secrets.token_hex(8)
    peer.remove_at_end(f"/dev/shm/{name}-*")
    return "squid", "-N", "-n", name, "-f", configuration


async def accepting(port):
    """Waits until the port takes connections."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            return writer.close()
        except OSError:
            await asyncio.sleep(0.02)


def is_bound_over_udp(port):
    """Returns whether a UDP socket of this network is bound to the port. No probe is sent, and no socket takes the port."""
    for path in ["/proc/net/udp", "/proc/net/udp6"]:
        if os.path.exists(path):
            with open(path) as file:
                if any(line.split()[1].endswith(f":{port:04X}") for line in file.readlines()[1:]):
                    return True
    return False


async def bound_over_udp(port):
    """Waits until a server is bound to the UDP port. caddy takes TCP connections before that."""
    while not is_bound_over_udp(port):
        await asyncio.sleep(0.02)


async def accepting_at(path):
    """Waits until the Unix domain socket takes connections. Its path is there before that."""
    while True:
        try:
            _, writer = await asyncio.open_unix_connection(path)
            return writer.close()
        except OSError:
            await asyncio.sleep(0.02)


async def start_ssh(ports):
    """Starts the SOCKS proxy of an ssh client, whose server is on this machine too."""
    folder = peer.temporary_folder()
    for name in ["host", "user"]:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    user = pwd.getpwuid(os.geteuid()).pw_name
    if user == "root":
        os.makedirs("/run/sshd", exist_ok=True)
    port = free_port()
    configuration = os.path.join(folder, "sshd_config")
    with open(configuration, "w") as file:
        file.write(SSHD.format(port=port, folder=folder))
    start(shutil.which("sshd"), "-D", "-e", "-f", configuration, folder=folder)
    await accepting(port)
    ports["ssh"] = free_port()
    options = ["BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
    words = [word for option in options for word in ("-o", option)]
    proxy = f"127.0.0.1:{ports['ssh']}"
    start(
        "ssh", "-F", "/dev/null", "-N", "-D", proxy, "-p", str(port), "-i", os.path.join(folder, "user"), *words,
        f"{user}@127.0.0.1", folder=folder
    )


def start_more_proxies(ports, chain, socket_path):
    """Starts the proxies that let clients through to the ports of the servers before them."""
    folder = peer.temporary_folder()
    os.chmod(folder, 0o755)
    others = [str(port) for port in ports.values()]

    def write(name, text):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
        return os.path.join(folder, name)

    if shutil.which("squid"):
        ports["squid"], ports["squid-tls"] = free_port(), free_port()
        with open(chain) as file:
            write("chain.pem", file.read())
        write("passwords", "ada:" + hashlib.md5(b"s3cret").hexdigest() + "\n")
        write("digest", "ada:trellis:" + hashlib.md5(b"ada:trellis:s3cret").hexdigest() + "\n")
        text = SQUID.format(port=ports["squid"], tls_port=ports["squid-tls"], folder=folder)
        start(*squid(write("squid.conf", text)), folder=folder, user="proxy")
    if shutil.which("microsocks"):
        ports["microsocks"] = free_port()
        options = ("-i", "127.0.0.1", "-p", str(ports["microsocks"]), "-u", "ada", "-P", "s3cret")
        start("microsocks", *options, folder=folder)
        if shutil.which("socat"):
            start("socat", f"UNIX-LISTEN:{socket_path},fork", f"TCP:127.0.0.1:{ports['microsocks']}", folder=folder)
    if shutil.which("danted"):
        ports["danted"] = free_port()
        rules = "\n".join(
            f"socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 port = {port} command: connect }}"
            for port in others
        )
        user = pwd.getpwuid(os.geteuid()).pw_name
        text = DANTE.format(port=ports["danted"], folder=folder, user=user, rules=rules)
        # The usual file for the process's number is that of every danted.
        start("danted", "-f", write("danted.conf", text), "-p", os.path.join(folder, "pid"), folder=folder)


async def main():
    authority = Authority()
    chain, key = authority.files()
    folder = peer.temporary_folder()
    with open(os.path.join(folder, "small"), "wb") as file:
        file.write(b"hello world")
    for name, size in [("middle", 2 << 20), ("large", 8 << 20)]:
        with open(os.path.join(folder, name), "wb") as file:
            file.write((bytes(range(251)) * (1 << 16))[:size])

    ports = {}
    if shutil.which("caddy"):
        ports["caddy"], ports["caddy-tcp"] = free_port(), free_port()
        text = CADDYFILE.format(
            port=ports["caddy"], tcp_port=ports["caddy-tcp"], chain=chain, key=key, folder=folder
        )
        configuration = os.path.join(authority.folder, "Caddyfile")
        with open(configuration, "w") as file:
            file.write(text)
        start("caddy", "run", "--adapter", "caddyfile", "--config", configuration, folder=authority.folder)
    if shutil.which("nghttpd"):
        # Servers with the usual limit of concurrent streams, and with lower ones.
        for name, limit in [("nghttpd", 100), ("nghttpd-1", 1), ("nghttpd-2", 2), ("nghttpd-10", 10)]:
            ports[name] = free_port()
            options = ("--address=127.0.0.1", f"--max-concurrent-streams={limit}", f"--htdocs={folder}")
            start("nghttpd", *options, str(ports[name]), key, chain, folder=authority.folder)
    if shutil.which("nginx"):
        for name in ["nginx", "nginx-names", "nginx-plain"]:
            ports[name] = free_port()
        authority.write_client("client.pem", "ada@example.com")
        # Files of root can be read by processes of root alone.
        user = "user root;" if os.geteuid() == 0 else ""
        one_chain, one_key = authority.files_of_intermediate("one.example", "*.one.example")
        two_chain, two_key = authority.files_of_intermediate("two.example")
        text = NGINX.format(
            user=user, folder=folder, port=ports["nginx"], chain=chain, key=key, ca=authority.path,
            names_port=ports["nginx-names"], one_chain=one_chain, one_key=one_key, two_chain=two_chain, two_key=two_key,
            plain_port=ports["nginx-plain"], socket_folder=authority.folder,
        )
        configuration = os.path.join(authority.folder, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(text)
        start("nginx", "-c", configuration, folder=authority.folder, ending=signal.SIGTERM)
    if shutil.which("tinyproxy"):
        allowed = "\n".join(f"ConnectPort {port}" for port in ports.values())
        ports["tinyproxy"] = free_port()
        configuration = os.path.join(authority.folder, "tinyproxy.conf")
        with open(configuration, "w") as file:
            file.write(TINYPROXY.format(port=ports["tinyproxy"], ports=allowed))
        start("tinyproxy", "-d", "-c", configuration, folder=authority.folder)
    socket_path = os.path.join(authority.folder, "socks.sock")
    start_more_proxies(ports, chain, socket_path)
    if "squid" in ports:
        with open(os.path.join(folder, "proxy.pac"), "w") as file:
            file.write(PAC % ports["squid"])
    if all(map(shutil.which, ["ssh", "sshd", "ssh-keygen"])):
        await start_ssh(ports)
    for port in ports.values():
        await accepting(port)
    if "caddy" in ports:
        await bound_over_udp(ports["caddy"])
    if shutil.which("socat") and "microsocks" in ports:
        await accepting_at(socket_path)
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
