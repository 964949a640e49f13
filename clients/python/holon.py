"""A client of Holon: requests, a stream that resumes by itself, and the live view.

One file, the standard library, Python 3.9 or later. Copy it beside your program:

    from holon import Client, View

    holon = Client()                        # finds the server as the command holon does
    thread = holon.call("thread/start", {"agent": "echo"}, key=True)
    view = View()
    for event in holon.stream(after_seq=thread["seq"]):
        change = view.apply(event)          # what is new, and what a retry supersedes

A program that an agent of kind exec runs has other agents work with workflow().

docs/protocol.md lists the methods and events, docs/rewind.md explains retries, and
docs/clients.md has the same program in four languages. Texts and members that this
file does not know pass through unchanged.

It differs from the Go client in this: it makes a connection for each request, it uses
no proxy of the environment, and it does not read the command's configuration file
(name a data directory by HOLON_DATA or `data`).
"""

import errno
import functools
import hashlib
import http.client
import ipaddress
import json
import math
import os
import random
import re
import socket
import ssl
import stat
import struct
import sys
import threading
import time
import urllib.parse
import uuid
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor

__all__ = ["Client", "Stream", "State", "View", "Turn", "Item", "Step", "Change", "Entry", "Marker", "Markers",
           "workflow", "Workflow", "JobFailed", "HolonError", "Offline", "WrongServer", "normal_url"]

DEFAULT_URL = "http://127.0.0.1:8080"

_CONNECT_SECONDS = 10  # also until the server has accepted
_ANSWER_SECONDS = 90  # more than any method takes that was not asked to wait
_OPENED_SECONDS = 30  # until stream/opened, which says how often heartbeats come
_HEARTBEATS_MISSED = 2.5  # one may come late, not two
_STEADY_SECONDS = 5  # a connection that lasted this long begins a new series of waits
_MAX_BYTES = 64 << 20  # of an answer or a line: a server's frames have 4 MiB unless configured larger
_MAX_SECRET_BYTES = 4 << 10


# ---- Errors

class HolonError(Exception):
    """A server's refusal, or why there was no answer. Switch on `kind`, never on the text.

    code and data are those of the JSON-RPC error (0 and None without one), status is
    the HTTP status (None on a stream and without an answer). retryable says that the
    same request may succeed later, after retry_after seconds if that is not 0. field,
    reason, first_seq, latest_seq and log_id are members of data, None if absent.

    Kinds of the server are in docs/protocol.md, section 5. Those of the client are
    offline, silent, bad_answer, not_a_stream, gap, http_NNN, and of WrongServer peer,
    clear_text, certificate and scheme.
    """

    def __init__(self, kind, message, code=0, data=None, status=None, retryable=False, retry_after=0.0):
        super().__init__(f"{message} [{kind}]")
        self.kind, self.message, self.code, self.data, self.status = kind, message, code, data, status
        self.retryable, self.retry_after = retryable, retry_after
        members = data if isinstance(data, dict) else {}
        self.field, self.reason = members.get("field"), members.get("reason")
        self.first_seq, self.latest_seq, self.log_id = (members.get(n) for n in ("first_seq", "latest_seq", "log_id"))


class Offline(HolonError):
    """Nobody answered: no server listens, or the connection broke (kinds offline, silent).

    Whether a request took effect is not known: repeat it with the same key.
    """

    def __init__(self, message, kind="offline"):
        super().__init__(kind, message, retryable=True)


class WrongServer(HolonError):
    """What listens at the URL must not get the request, or cannot read it; nothing was sent.

    Kinds: peer (a program of another user listens, or it is not known whose),
    clear_text (plain http to another machine), certificate, scheme (http instead of
    https, or the reverse).
    """


def _refusal(error, status):
    """The HolonError of the error member of an answer."""
    error = error if isinstance(error, dict) else {}
    data = error.get("data")
    members = data if isinstance(data, dict) else {}
    message, field = error.get("message", ""), members.get("field")
    return HolonError(
        str(members.get("kind") or error.get("code", "")), f"{message} (field {field})" if field else message,
        code=error.get("code", 0), data=data, status=status, retryable=members.get("retryable") is True,
        retry_after=_seconds(members.get("retry_after_ms")))


def _seconds(milliseconds):
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) and milliseconds > 0 else 0.0


def _status_error(status, body):
    """The JSON-RPC error in a body, or else, as for the page of a proxy, the status."""
    answer = _json(body)
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        return _refusal(answer["error"], status)
    kind = {401: "unauthorized", 403: "forbidden", 503: "unavailable"}.get(status, f"http_{status}")
    return HolonError(kind, f"HTTP {status} {http.client.responses.get(status, '')}".rstrip(), status=status,
                      retryable=status >= 500 or status == 429)


def _json(line):
    """Decodes bytes of JSON; None if they are none. Bytes that are no UTF-8 lose no event."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


# ---- Where the server is, and which token is meant for it

_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+(?:%25[\w.-]+)?\]|[^/:\[\]%]+)(?::(\d*))?(/.*)?", re.IGNORECASE | re.ASCII)


def normal_url(url):
    """Returns the one form of a server's URL, or raises a ValueError.

    Scheme and host are in lower case; there is no default port and no slash at the
    end; the path of a socket is absolute. A token for one URL may go to another only
    if their forms are equal: what is merely alike (localhost for 127.0.0.1, another
    port) is another server. The error does not quote what may have a password.
    """
    forms = "give http://HOST:PORT, https://HOST:PORT or unix:PATH"
    if url.startswith("unix:"):
        path = url[len("unix:"):]
        if not path:
            raise ValueError("unix: needs the path of a socket, as in unix:/run/holon.sock")
        return url if os.path.isabs(path) else f"unix:{os.getcwd()}/{path}"
    if "@" in url:
        raise ValueError(f"server URL: leave the user and the password out, {forms}")
    if "?" in url or "#" in url:
        raise ValueError(f"server URL: leave out what begins with ? or #, {forms}")
    match = _URL.fullmatch(url)
    if not match or re.search(r"[\x00-\x20\x7f]", url):
        raise ValueError(f"server URL: {forms}")
    scheme, host, port, path = match.groups()
    # Only ASCII: some other letters have an ASCII letter as their lower case.
    scheme, host = (re.sub("[A-Z]", lambda m: m[0].lower(), part) for part in (scheme, host))
    port = f":{port}" if port and port != {"http": "80", "https": "443"}[scheme] else ""
    return f"{scheme}://{host}{port}{(path or '').rstrip('/')}"


def _is_local(url):
    """Tells whether a normal URL stays on this machine."""
    if url.startswith("unix:"):
        return True
    host = _URL.fullmatch(url)[2].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_token(token):
    """Refuses what cannot be in an Authorization header (RFC 6750); it does not quote it."""
    if not token or len(token) > _MAX_SECRET_BYTES:
        raise ValueError(f"a token has 1 to {_MAX_SECRET_BYTES} characters, this one has {len(token)}")
    if not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):
        raise ValueError("a token is made of letters, digits and -._~+/=")
    return token


class _Endpoint:
    """A server's address and the token for it; "" = none. owner is the user of the token's file."""

    def __init__(self, url, token="", owner=0, ca=""):
        self.url, self.token, self.owner, self.ca = url, token, owner, ca
        if token and not (url.startswith("https:") or _is_local(url)):
            raise WrongServer("clear_text", f"{url} is plain http to another machine, so the token was not sent")

    def __repr__(self):
        return f"<{self.url}>"  # never the token


class _Finder:
    """Finds the server and its token, as the command holon does (docs/security.md).

    It is asked again at each reconnect: a server that restarts may listen elsewhere.
    """

    def __init__(self, url, token, data, ca):
        self.url = url and normal_url(url)
        self.token = token and _check_token(token)
        self.data, self.ca = data, ca or ""

    def find(self):
        """Returns the endpoint and whether it is only the default address."""
        data = self.data or os.environ.get("HOLON_DATA") or ""
        named, directory = bool(data), data or _default_data()
        url = self.url or normal_url(os.environ["HOLON_URL"]) if self.url or os.environ.get("HOLON_URL") else ""
        found, owner, is_default = "", 0, False
        if url:
            # The token allows running commands: a URL alone is no reason to send it,
            # because a port of this machine may lead to another one.
            if directory and (self.url and self.data or _is_local(url) and _served_at(directory, url)):
                found, owner = _token_of(directory)
        else:
            url = _server_of(directory, named)
            if url:
                found, owner = _token_of(directory)
            else:
                url, is_default = DEFAULT_URL, True  # it is unknown whose server listens there
        given = self.token or self._from_environment()
        kept = _profile(url) if not (given and self.ca) else {}
        given = given or kept.get("token", "")
        token, owner = (given, 0) if given else (found, owner)
        return _Endpoint(url, token and _check_token(token), owner, self.ca or kept.get("ca", "")), is_default

    def _from_environment(self):
        """HOLON_TOKEN if it is for this server. It belongs to HOLON_URL if that is set."""
        token, url = os.environ.get("HOLON_TOKEN", ""), os.environ.get("HOLON_URL", "")
        if self.url and (normal_url(url) != self.url if url else token.startswith("holon_agent_")):
            return ""
        return token


def _default_data():
    state = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return os.path.join(state, "holon")
    home = os.environ.get("HOME", "")
    return os.path.join(home, ".local", "state", "holon") if home else ""


def _record(directory):
    """What the server of a data directory has left in server.json; {} if there is none."""
    try:
        with open(os.path.join(directory, "server.json"), "rb") as file:
            record = _json(file.read(1 << 20))
    except OSError:
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("urls"), list):
        return {}
    record["urls"] = [url for url in record["urls"] if isinstance(url, str) and _is_url(url)]
    return record


def _is_url(url):
    try:
        return bool(normal_url(url))
    except ValueError:
        return False


def _served_at(directory, url):
    return url in map(normal_url, _record(directory).get("urls", []))


def _server_of(directory, named):
    """The URL of the server that runs on a data directory; "" if none does and nobody named it."""
    record = _record(directory) if directory else {}
    if record and _alive(record):
        # A unix socket first: the kernel names the users of both ends.
        for prefix in ("unix:", "http://", "https://"):
            for url in record["urls"]:
                if url.startswith(prefix):
                    return normal_url(url)
        raise Offline(f"the server of {directory} names no URL that a client can reach: start it with --listen HOST:PORT")
    if named:
        gone = f": process {record.get('pid')}, which did, is gone" if record else ""
        raise Offline(f"no server runs on {directory}{gone}")
    return ""


def _alive(record):
    """Tells whether the process of a server.json still runs, and not another of its number."""
    pid = record.get("pid")
    if type(pid) is not int or pid <= 0 or os.name != "posix":
        return False
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            if record.get("boot_id") not in (None, "", file.read().strip()):
                return False
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the first is field 3
        dead = fields[0] == b"X" or fields[0] == b"Z" and fields[17] in (b"0", b"1")
        return not dead and record.get("start_ticks") in (None, 0, int(fields[19]))
    except (OSError, IndexError, ValueError):
        pass
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _token_of(directory):
    """The token of a data directory and the owner of its file; "" if this user cannot read it."""
    try:
        with open(os.path.join(directory, "token"), "rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            return file.read(_MAX_SECRET_BYTES).decode("ascii", "replace").strip(), owner
    except (FileNotFoundError, PermissionError):
        return "", 0


def _profile(url):
    """What `holon login` has kept for this URL: token and ca; {} if there is nothing."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if os.name != "posix":
        return {}
    if not os.path.isabs(config):
        home = os.environ.get("HOME", "")
        if not home:
            return {}
        config = os.path.join(home, "Library/Application Support" if sys.platform == "darwin" else ".config")
    path = os.path.join(config, "holon", "profiles", hashlib.sha256(url.encode()).hexdigest()[:32] + ".json")
    try:
        file = open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except FileNotFoundError:
        return {}
    with file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EACCES, "others may read or write this profile: log in again", path)
        profile = _json(file.read(1 << 20))
    if not isinstance(profile, dict) or profile.get("url") != url:
        raise ValueError(f"the profile in {path} is damaged: log in again")
    return profile


# ---- Who listens there

class _NotAccepted(Exception):
    """No process has the socket at the other end: it was not accepted yet, or is closed."""


def _check_peer(endpoint, sock):
    """Raises WrongServer unless the listening user may see the token anyway.

    Another user of the machine can listen at a port that a server has left. The kernel
    of Linux says whose socket the other end is; other systems do not, and nothing is
    checked there: let the server listen on a unix socket in a directory of your own.
    """
    unix = sock.family == getattr(socket, "AF_UNIX", None)
    where = endpoint.url if unix else "%s:%d" % sock.getpeername()[:2]
    if not unix and not _unmapped(sock.getpeername()[0]).is_loopback:
        raise WrongServer("clear_text", f"{endpoint.url} leads to another machine ({where}), so the token was not sent")
    if not sys.platform.startswith("linux"):
        return
    try:
        uid = _unix_peer(sock) if unix else _accepted_by(sock)
        with open("/proc/sys/kernel/overflowuid") as file:
            nameless = uid in (int(file.read()), 0xFFFFFFFF)
    except _NotAccepted as e:
        raise Offline(f"nobody has taken the connection to {where}") from e
    except (OSError, ValueError, struct.error) as e:
        raise WrongServer("peer", f"who listens at {where} cannot be looked up, so the token was not sent: {e}") from e
    if nameless or uid not in (0, endpoint.owner, os.geteuid()):
        raise WrongServer("peer", f"the program that listens at {where} belongs to another user (uid {uid}), so the token was not sent")


def _unmapped(address):
    ip = ipaddress.ip_address(address.partition("%")[0])
    return getattr(ip, "ipv4_mapped", None) or ip


def _unix_peer(sock):
    """The user who began to listen (SO_PEERCRED)."""
    return struct.unpack("=iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]


def _accepted_by(sock):
    """Waits until a loopback connection is accepted and returns the user who has it."""
    until, wait = time.monotonic() + _CONNECT_SECONDS, 0.0002
    while True:
        try:
            uid = _tcp_peer(sock)
            break
        except _NotAccepted:
            if time.monotonic() > until:
                raise
            time.sleep(wait)
            wait = min(2 * wait, 0.02)
    # While our end is established, no other socket can have its pair of addresses.
    # Otherwise the peer could have left its port to a program of another user.
    if sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1:
        raise OSError("the connection has ended")
    return uid


def _tcp_peer(sock):
    """Asks the kernel (sock_diag(7)) for the one socket whose addresses mirror ours."""
    ends = [(_unmapped(name[0]), name[1]) for name in (sock.getpeername(), sock.getsockname())]
    if not all(ip.is_loopback for ip, _ in ends):
        raise OSError("not a connection within loopback")
    family = socket.AF_INET if ends[0][0].version == 4 else socket.AF_INET6
    pair = struct.pack(">HH16s16s", ends[0][1], ends[1][1], ends[0][0].packed, ends[1][0].packed)
    # struct inet_diag_req_v2; the state and the interface are not looked at, there is no cookie.
    request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + pair + struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 4) as diag:  # NETLINK_SOCK_DIAG
        diag.settimeout(1)
        diag.sendto(struct.pack("=IHHII", 16 + len(request), 20, 1, 1, 0) + request, (0, 0))
        reply, sender = diag.recvfrom(4096)
    if sender[0] != 0:
        raise OSError("sock_diag: a message that is not from the kernel")
    kind = struct.unpack_from("=H", reply, 4)[0]
    if kind == 2:  # NLMSG_ERROR
        number = -struct.unpack_from("=i", reply, 16)[0]
        raise OSError(number, f"sock_diag: {os.strerror(number)}")
    found, state = struct.unpack_from("=BB", reply, 16)  # struct inet_diag_msg
    uid, inode = struct.unpack_from("=II", reply, 16 + 64)
    if kind != 20 or found not in (socket.AF_INET, socket.AF_INET6):
        raise OSError("sock_diag found something else")
    if state != 1:
        raise OSError(f"the peer's socket is in state {state}")
    port, far, address, other = struct.unpack_from(">HH16s16s", reply, 16 + 4)
    size = 4 if found == socket.AF_INET else 16
    if [(_unmapped(str(ipaddress.ip_address(a[:size]))), p) for a, p in ((address, port), (other, far))] != ends:
        raise OSError("sock_diag found another socket")
    if inode == 0:  # its uid reads 0
        raise _NotAccepted
    return uid


# ---- Requests

class Client:
    """Talks to one server. All its methods may be called from any number of threads.

    It is found as the command finds it: `url` (http://, https:// or unix:PATH), else
    HOLON_URL, else what runs on the data directory (`data`, HOLON_DATA or the default
    one), else, if no directory was named, http://127.0.0.1:8080. So is the token:
    `token`; HOLON_TOKEN if it is for this URL; what `holon login` has kept for it; that
    of the data directory if its server.json names the URL, or both were given here. It
    goes over https, to unix sockets, and on this machine to programs of users who may
    read it; else the request ends with WrongServer and nothing is sent.

    ca is PEM text with authorities that are trusted beside those of the system.
    patience is for how many seconds a request with a key is repeated.
    A URL or token that cannot be one raises ValueError, a profile that others may read
    OSError. Nothing has to be closed.
    """

    def __init__(self, url=None, token=None, *, data=None, ca=None, patience=60.0):
        self._finder = _Finder(url, token, data, ca)
        self._patience = patience
        self._lock = threading.Lock()  # of _known
        self._known = None

    def call(self, method, params=None, key=None, *, timeout=_ANSWER_SECONDS):
        """Sends one request and returns its result. It raises HolonError, Offline or WrongServer.

        With key the request has that idempotency_key, or, with key=True, one of its
        own. It is then repeated with growing waits while nobody answers, or the server
        is starting or stopping, for `patience` seconds, and takes effect once.
        Without a key it is sent once: after Offline it may have taken effect or not.

        timeout is for how many seconds an answer is waited for: give more than a
        method was asked to wait (wait_seconds, timeout_seconds).

        Half a surrogate pair in params becomes U+FFFD, and NaN and the infinities None:
        a server refuses them. A directory, a title, a name or an id that would be changed
        so raises ValueError; such are names of files that are not UTF-8, as os gives them.
        """
        params = dict(params or {})
        if key:
            params["idempotency_key"] = key if key is not True else params.get("idempotency_key") or str(uuid.uuid4())
        for name, value in params.items():
            if isinstance(value, str) and _names(name) and _whole(value).count("\ufffd") != value.count("\ufffd"):
                raise ValueError(f"{name} is not UTF-8, and a name is not changed: it could be that of something else")
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": _mended(params)}
        body = json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
        until, attempt = time.monotonic() + self._patience, 0
        while True:
            try:
                return self._once(method, body, timeout)
            except HolonError as e:
                if not key or not (isinstance(e, Offline) or e.kind in ("unavailable", "http_502", "http_504")):
                    raise
                attempt += 1
                wait = max(_backoff(attempt, self._near()), e.retry_after)
                if time.monotonic() + wait > until:
                    raise
            time.sleep(wait)
            self._refresh()

    def stream(self, after_seq=None, *, log_id=None, thread_ids=(), within_thread_ids=(), methods=(),
               whole_thread_ids=(), collapse=False, content=None, retry_first=False, on_state=None):
        """Follows the log: returns a Stream, which yields each event once, in order.

        after_seq is the cursor: 0 is the beginning, None is from now on. log_id makes
        the server refuse a cursor of another log. thread_ids, within_thread_ids (with
        all threads below) and methods (names, or kinds such as item/*) narrow what
        comes. collapse leaves out what is superseded; later markers must still be
        applied. content="summary" leaves out deltas and long contents, but not of
        whole_thread_ids. on_state is called with a State whenever the connection changes.

        The first connection must succeed, because a wrong address is the likely reason
        if it does not; with retry_first it is tried again like the others.
        """
        lists = {"thread_id": thread_ids, "within_thread_id": within_thread_ids, "method": methods,
                 "whole_thread_id": whole_thread_ids}
        for name, values in lists.items():
            if isinstance(values, str):
                raise TypeError(f"{name}s is a list of texts, not a text")
        query = [(name, value) for name, values in lists.items() for value in values]
        if collapse:
            query.append(("collapse", "superseded"))
        if content:
            query.append(("content", content))
        return Stream(self, query, after_seq, log_id, retry_first, on_state)

    def _once(self, method, body, timeout):
        """One attempt of a call."""
        endpoint = self._endpoint()
        connection = _connect(endpoint)
        try:
            response = _exchange(connection, endpoint, "POST", "/rpc", body, timeout)
            text = _body(response, _MAX_BYTES)
        except (OSError, http.client.HTTPException) as e:
            raise Offline(f"no answer to {method} from {endpoint.url}: {_why(e)}") from e
        finally:
            connection.close()
        if text is None:
            raise HolonError("bad_answer", f"the answer to {method} is larger than {_MAX_BYTES} bytes")
        if response.status == 400 and endpoint.url.startswith("http:") and _wants_tls(text):
            raise WrongServer("scheme", f"{endpoint.url} answers in https: its address is https{endpoint.url[4:]}")
        answer = _json(text)
        if isinstance(answer, dict) and answer.get("error") is not None:
            raise _refusal(answer["error"], response.status)
        if response.status != 200:
            raise _status_error(response.status, text)
        if not isinstance(answer, dict) or "result" not in answer:
            raise HolonError("bad_answer", f"the answer to {method} is not JSON-RPC")
        return answer["result"]

    def _endpoint(self):
        """Where the server is; it is looked for until it is found once."""
        with self._lock:
            if self._known is None:
                self._known, _ = self._finder.find()
            return self._known

    def _refresh(self):
        """Looks again where the server is, after a connection was lost.

        If only the default address is left, the known one stays: another server may
        listen at the default, and this one may come back soon.
        """
        try:
            endpoint, is_default = self._finder.find()
        except (HolonError, OSError, ValueError):
            return
        with self._lock:
            if self._known is None or not is_default:
                self._known = endpoint

    def _near(self):
        with self._lock:
            return self._known is not None and _is_local(self._known.url)


def _backoff(attempt, near):
    """How many seconds to wait before an attempt, from 1: nothing, then 0.1 and twice as long each time.

    It is at most 1 s for a server on this machine, for which a person waits, and 5 s for
    others, which may have thousands of clients. Chance moves it by up to half.
    """
    if attempt <= 1:
        return 0.0
    return min(0.1 * 2 ** min(attempt - 2, 30), 1.0 if near else 5.0) * random.uniform(0.5, 1.5)


def _connect(endpoint):
    """Returns a connection on which the token may be sent. The caller closes it."""
    if endpoint.url.startswith("unix:"):
        connection = http.client.HTTPConnection("localhost", timeout=_CONNECT_SECONDS)
    else:
        scheme, host, port, _ = _URL.fullmatch(endpoint.url).groups()
        host, port = host.strip("[]").replace("%25", "%"), int(port or 0) or None
        if scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=_tls(endpoint.ca))
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
    try:
        if endpoint.url.startswith("unix:"):
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(_CONNECT_SECONDS)
            connection.sock.connect(endpoint.url[len("unix:"):])
        else:
            connection.connect()
        if endpoint.token and not endpoint.url.startswith("https:"):
            _check_peer(endpoint, connection.sock)
    except BaseException as e:  # also of names and ports that cannot be
        connection.close()
        raise _not_connected(endpoint, e) if isinstance(e, (OSError, OverflowError, UnicodeError)) else e
    return connection


@functools.lru_cache(maxsize=16)  # reading the system's authorities takes longer than a request
def _tls(ca):
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca:
        try:
            context.load_verify_locations(cadata=ca)
        except (ssl.SSLError, ValueError) as e:
            raise WrongServer("certificate", "further certificates: there are none in the form of PEM") from e
    return context


def _not_connected(endpoint, e):
    if isinstance(e, ssl.SSLCertVerificationError):
        return WrongServer("certificate", f"the certificate of {endpoint.url} was not accepted: {e.verify_message}")
    if isinstance(e, ssl.SSLError) and e.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return WrongServer("scheme", f"{endpoint.url} answers in plain http: its address is http{endpoint.url[5:]}")
    return Offline(f"no server at {endpoint.url}: {_why(e)}")


def _wants_tls(text):
    """Tells whether an answer to plain http says that the server speaks https: Go, nginx and Apache do."""
    return any(said in text[:1024] for said in (
        b"HTTP request to an HTTPS server", b"plain HTTP request was sent to HTTPS port", b"speaking plain HTTP to an SSL-enabled server port"))


def _why(e):
    return str(e) or type(e).__name__


def _exchange(connection, endpoint, verb, path, body, timeout):
    """Sends a request and returns the response, whose body is not read yet. Redirects are not followed."""
    connection.sock.settimeout(timeout)
    headers = {"Content-Type": "application/json"} if body is not None else {"Accept": "application/x-ndjson"}
    if endpoint.token:
        headers["Authorization"] = "Bearer " + endpoint.token
    prefix = "" if endpoint.url.startswith("unix:") else _URL.fullmatch(endpoint.url)[4] or ""
    try:
        connection.request(verb, prefix + path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it may have answered before it has read everything
    return connection.getresponse()


def _body(response, most):
    """The whole body of a response, None if it is larger. One that was cut off is an error."""
    body, size = bytearray(), response.length  # None: it ends by itself
    while size is None or len(body) < size:
        data = response.read1(64 << 10)
        if not data and size is not None:
            raise http.client.IncompleteRead(bytes(body), size - len(body))
        body += data
        if len(body) > most:
            return None
        if not data:
            break
    return bytes(body)


# ---- Workflows

def workflow(turn=None, client=None):
    """The workflow of a turn: a program that starts jobs, and finds them when it is run again.

    turn has thread_id, turn_id and attempt, as the turn that a worker has claimed. Without
    it the turn is the one that the environment names (HOLON_THREAD_ID, HOLON_TURN_ID,
    HOLON_ATTEMPT): the server runs programs of agents of kind exec so. client is by default
    the one that the environment gives. Without a turn it raises LookupError.
    """
    names = os.environ
    turn = turn or {"thread_id": names.get("HOLON_THREAD_ID"), "turn_id": names.get("HOLON_TURN_ID"),
                    "attempt": int(names.get("HOLON_ATTEMPT") or 0)}
    if not turn.get("thread_id") or not turn.get("turn_id"):
        raise LookupError("this is no turn of an agent: give workflow() a turn, or set HOLON_THREAD_ID and HOLON_TURN_ID")
    return Workflow(client or Client(), turn)


class JobFailed(Exception):
    """A job that failed, was interrupted, or was blocked by a review. result has what is known."""

    def __init__(self, name, result):
        error = result.get("error") or {}
        why = error.get("message") or (result.get("review") or {}).get("note") or result.get("text") or ""
        state = "was blocked" if result["state"] == "completed" else {"interrupted": "was interrupted"}.get(result["state"], "failed")
        super().__init__(f"job {name} {state}" + (f": {why}" if why else ""))
        self.name, self.result = name, result


class Workflow:
    """What a turn has other agents do. All its methods may be called from any number of threads.

    A job has a name that is unique in the turn. When the program is run again after a crash
    and asks for the same jobs, those that have completed answer at once, and those that go on
    are waited for. So what the program does between its jobs must depend on nothing but their
    results: name jobs by what they are about, not by a count or a clock.
    """

    def __init__(self, client, turn):
        self._client, self._sleep = client, time.sleep
        self._parent = {name: turn[name] for name in ("thread_id", "turn_id", "attempt") if turn.get(name)}

    def job(self, name, prompt, *, agent=None, cwd=None, title=None, timeout_seconds=None):
        """Has a job done and returns what its agent has said last, without line breaks at the end.

        It raises JobFailed.

        name is 1 to 8 words of A-Z a-z 0-9 _ . - with / between them; agent and cwd are by
        default those of the turn. HolonError with the kind conflict says that the name was
        used for other work; attempt_superseded and unauthorized, that this program is one of
        an attempt that was given up, and should end.
        """
        params = {"job": name, "parent": self._parent, "wait_seconds": _JOB_SECONDS,
                  "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}],
                  "agent": agent, "cwd": cwd, "title": title, "timeout_seconds": timeout_seconds}
        params = {name: value for name, value in params.items() if value is not None}
        while True:
            wait = 1.0
            try:
                answer = self._client.call("turn/start", params, timeout=_JOB_SECONDS + _ANSWER_SECONDS)
            except HolonError as e:
                if not e.retryable:
                    raise
                wait = max(wait, e.retry_after)  # the turn is between two attempts, the server is full, or restarts
            else:
                for result in answer.get("results", ()):
                    if result["state"] in ("completed", "failed", "interrupted"):
                        return self._result(name, result)
                    if result["state"] == "in_review":
                        wait = 5.0  # a person gives the verdict
            self._sleep(wait)

    def _result(self, name, result):
        if result["state"] != "completed" or (result.get("review") or {}).get("state") == "blocked":
            raise JobFailed(name, result)
        if not result.get("text_truncated"):
            return result.get("text", "").rstrip("\n")
        page = self._client.call("item/list", {"turn_id": result.get("continued_by") or result["turn_id"],
                                               "type": "agent_message", "order": "desc", "limit": 1})
        return "".join(part.get("text", "") for part in page["items"][0]["content"]["content"]).rstrip("\n")

    def parallel(self, *calls):
        """Calls functions at the same time, at most 16 of them, and returns their results in order.

        All of them end before it does. If some fail, it raises the error of the first of those.
        """
        with ThreadPoolExecutor(max_workers=min(len(calls), _AT_ONCE) or 1) as pool:
            futures = [pool.submit(call) for call in calls]
        return [future.result() for future in futures]

    def pipeline(self, items, *stages):
        """Takes each item through the stages, and returns what the last one made of each, in order.

        Items do not wait for each other: one may be in its last stage while another is in its
        first. A stage is a function of what the stage before has made, and of the item.
        """
        def through(item):
            value = item
            for stage in stages:
                value = stage(value, item)
            return value
        return self.parallel(*(functools.partial(through, item) for item in items))


_JOB_SECONDS = 600  # that one request waits for a job: the most that the server allows
_AT_ONCE = 16  # jobs that one parallel or pipeline waits for; a turn may have 64


# ---- The stream

State = namedtuple("State", "state url cursor log_id first_seq latest_seq as_of_seq error attempt retry_in")
State.__doc__ = """A change of a stream's connection.

state is connected or reconnecting. The seqs are those of stream/opened, None while
reconnecting; error, attempt (from 1) and retry_in (seconds) say why and when the next
attempt is made, None while connected.
"""


class Stream:
    """The events of a log, as an iterator that reconnects and resumes by itself.

    It yields {"method": …, "params": …} of each event once, in the order of their
    seqs. It survives broken connections, connections that fall silent (2.5 times the
    server's heartbeat), and servers that are killed and come back, also elsewhere. It
    ends by raising HolonError where a further attempt cannot help: cursor_expired,
    cursor_ahead, log_changed, unauthorized, forbidden, invalid_params, and gap if the
    server leaves out events twice.

    One thread iterates. cursor, log_id, retry_now and close may be used from any; a
    program that leaves the loop early calls close, or uses the stream in a with.
    """

    def __init__(self, client, query, after_seq, log_id, retry_first, on_state):
        self._client, self._query, self._retry_first, self._on_state = client, query, retry_first, on_state
        self._cursor, self._log_id = after_seq, log_id
        self._opened = False  # any connection was
        self._lost_at = None  # the seq before the last gap
        self._attempt = 0
        self._sock = None
        self._closing, self._wake = threading.Event(), threading.Event()
        self._events = self._run()

    @property
    def cursor(self):
        """The seq after which the stream resumes; None before a live stream has begun.

        It moves past an event when the next one is asked for. So a program that stores
        it before it asks repeats an event after a crash rather than lose it.
        """
        return self._cursor

    @property
    def log_id(self):
        """The log to which the cursor belongs, None if that is not known yet."""
        return self._log_id

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._events)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the stream: an iteration that waits in another thread ends, too."""
        self._closing.set()
        self._wake.set()
        sock = self._sock
        if sock is not None:
            try:
                # The method of SSLSocket would take the connection from under its reader.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass
        try:
            self._events.close()
        except ValueError:
            pass  # another thread is in it, and leaves by itself

    def retry_now(self):
        """Makes the next attempt to connect at once, unless the server has asked for a wait."""
        self._wake.set()

    def _run(self):
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                yield from self._connection()
            except HolonError as e:
                error = e
            if self._closing.is_set():
                return
            if not self._heals(error):
                raise error
            if time.monotonic() - began >= _STEADY_SECONDS:
                self._attempt = 0
            self._attempt += 1
            wait = max(_backoff(self._attempt, self._client._near()), error.retry_after)
            self._tell("reconnecting", error=error, attempt=self._attempt, retry_in=wait)
            (self._closing if error.retry_after else self._wake).wait(wait)
            self._wake.clear()
            self._client._refresh()

    def _heals(self, error):
        """Tells whether another attempt makes sense after an error."""
        if not self._opened and not self._retry_first:
            return False
        if error.kind == "gap":
            again, self._lost_at = self._lost_at == self._cursor, self._cursor
            return not again
        if isinstance(error, WrongServer) or error.retryable or (error.status or 0) >= 500:
            return True
        # A refusal without an error of the protocol is from a proxy or a portal: a retry may succeed.
        return self._opened and error.status is not None and error.code == 0

    def _connection(self):
        """Yields the events of one connection, and ends by raising why it ended."""
        endpoint = self._client._endpoint()
        connection = _connect(endpoint)
        response = None
        self._sock = sock = connection.sock
        try:
            if self._closing.is_set():
                return
            path = "/rpc/stream?" + urllib.parse.urlencode(self._query + self._position())
            response = _exchange(connection, endpoint, "GET", path, None, _OPENED_SECONDS)
            self._expect_stream(response, endpoint)
            for line in _lines(response):
                message = _json(line)
                if not isinstance(message, dict):
                    raise HolonError("bad_answer", "the server sent a line that is not JSON-RPC", retryable=True)
                method, params = message.get("method"), message.get("params")
                params = params if isinstance(params, dict) else {}
                if method == "stream/opened":
                    beat = params.get("heartbeat_seconds")
                    if isinstance(beat, (int, float)) and beat > 0:
                        sock.settimeout(beat * _HEARTBEATS_MISSED)
                    self._on_opened(params, endpoint)
                elif method in ("stream/heartbeat", "stream/closing"):
                    self._on_control(method, params)
                elif method and self._is_next(params.get("seq")):
                    yield {"method": method, "params": params}
                    self._opened, self._attempt = True, 0
                    self._advance(params["seq"])
        except socket.timeout as e:
            raise Offline(f"nothing came for {sock.gettimeout():g} s, not even a heartbeat", "silent") from e
        except (OSError, http.client.HTTPException) as e:
            raise Offline(f"the connection to {endpoint.url} broke: {_why(e)}") from e
        finally:
            self._sock = None
            if response is not None:
                response.close()
            connection.close()

    def _position(self):
        if self._cursor is None:
            return []
        return [("after_seq", f"{self._log_id}:{self._cursor}" if self._log_id else str(self._cursor))]

    def _expect_stream(self, response, endpoint):
        kind = response.getheader("Content-Type", "")
        if response.status == 200 and kind.startswith("application/x-ndjson"):
            return
        if response.status == 200:
            raise HolonError("not_a_stream", f"the server answered {kind!r} where a stream was asked for", status=200)
        text = _body(response, 1 << 20) or b""
        if response.status == 400 and endpoint.url.startswith("http:") and _wants_tls(text):
            raise WrongServer("scheme", f"{endpoint.url} answers in https: its address is https{endpoint.url[4:]}")
        raise _status_error(response.status, text)

    def _on_opened(self, params, endpoint):
        if self._cursor is None:
            self._advance(params.get("after_seq"))
        self._log_id = params.get("log_id") or self._log_id
        self._opened = True
        self._tell("connected", url=endpoint.url, **{n: params.get(n) for n in ("first_seq", "latest_seq", "as_of_seq")})

    def _on_control(self, method, params):
        seq = params.get("seq")
        if method == "stream/closing":
            if self._query:  # else the seq of the last event says it
                self._advance(seq)
            raise HolonError(str(params.get("code", "")), params.get("reason") or "the server closed the stream", data=params,
                             retryable=params.get("reconnect") is True, retry_after=_seconds(params.get("retry_after_ms")))
        if not self._query and self._cursor is not None and isinstance(seq, int) and seq > self._cursor:
            raise self._gap(seq)
        self._attempt = 0
        self._advance(seq)

    def _is_next(self, seq):
        """Tells whether the event of this seq is to be yielded: it is in the log and was not yet."""
        if type(seq) is not int or seq <= 0 or self._cursor is not None and seq <= self._cursor:
            return False
        if not self._query and self._cursor is not None and seq != self._cursor + 1:
            raise self._gap(seq)
        return True

    def _gap(self, seq):
        return HolonError("gap", f"the stream is not dense: seq {seq} came after {self._cursor}", retryable=True)

    def _advance(self, seq):
        if type(seq) is int and (self._cursor is None or seq > self._cursor):
            self._cursor = seq

    def _tell(self, state, **members):
        if self._on_state:
            values = dict.fromkeys(State._fields)
            values.update(members, state=state, cursor=self._cursor, log_id=self._log_id)
            self._on_state(State(**values))


def _lines(response):
    """Yields the lines of a stream. A last one without an end was cut off, and comes again."""
    rest = bytearray()
    while True:
        data = response.read1(64 << 10)
        if not data:
            raise Offline("the connection ended")
        rest += data
        if len(rest) > _MAX_BYTES:
            raise HolonError("bad_answer", f"the server sent a line of more than {_MAX_BYTES} bytes")
        if b"\n" in data:
            *lines, last = rest.split(b"\n")
            rest = bytearray(last)
            yield from (line for line in lines if line.strip())


# ---- The live view (docs/rewind.md)

Marker = namedtuple("Marker", "seq thread_id turn_id step new_epoch after reason")
Marker.__doc__ = """What a stream/rewind says.

An event of the turn is superseded if its lineage has the step in an epoch below
new_epoch and its seq is above after (0: all).
"""

Entry = namedtuple("Entry", "seq method item_id")
Entry.__doc__ = """One event that a View has read; item_id is "" if it has no item."""

Step = namedtuple("Step", "path epoch status")
Step.__doc__ = """A step as its live events leave it; status is that of its last event."""

Change = namedtuple("Change", "kind turn item marker superseded")
Change.__doc__ = """What one event did to a View.

kind is skipped (read before, not in the log, or not of the protocol's form), joined,
superseded (by a marker that came before), late (from an attempt that had been given
up) or rewound: then marker is set, and superseded has the entries that were live until
now, in the order of their seqs. turn and item are None if the event has none.
"""


class Markers:
    """The markers of one turn, for who keeps less than a View: say of each lineage what is superseded."""

    def __init__(self):
        self._steps = {}  # path → [(below_epoch, after_seq)]: one, unless they differ the opposite way

    def add(self, marker):
        """Adds a marker. It does not look at the marker's turn."""
        cuts, new = self._steps.get(marker.step, []), (marker.new_epoch, marker.after)
        if not any(c[0] >= new[0] and c[1] <= new[1] for c in cuts):
            self._steps[marker.step] = [c for c in cuts if c[0] > new[0] or c[1] < new[1]] + [new]

    def hides(self, lineage):
        """Returns the seq above which events of this lineage are superseded, None if none are.

        lineage is that of an event, or a list of pairs of step and epoch.
        """
        after = None
        for step, epoch in _pairs(lineage):
            for below, seq in self._steps.get(step, ()):
                if epoch < below and (after is None or seq < after):
                    after = seq
        return after

    def stale(self, lineage, seq):
        """Tells whether the event of this lineage and seq is superseded."""
        after = self.hides(lineage)
        return after is not None and seq > after


def _pairs(lineage):
    return tuple((_get(r, "step", str), _get(r, "epoch", int)) if isinstance(r, dict) else tuple(r) for r in lineage or ())


class Item:
    """An item as its live events leave it; if none is live any more, as it was before.

    type is content.type, "" if the view began after the item was made. content is that
    of the last item/created or item/updated; text that was appended since is only in
    text. created_seq is the seq of its first event that was read, updated_seq that of
    its last live one. All of it changes with the next apply of the View.
    """

    def __init__(self, item_id):
        self.item_id, self.live, self.created_seq = item_id, False, 0
        self._parts, self._dirty = [], False
        self._empty()

    def _empty(self):
        self.type, self.status, self.content, self.truncated, self.updated_seq = "", "", None, False, 0
        self.text_from, self._text = 0, bytearray()

    @property
    def text(self):
        """The text that grows by deltas: of an agent_message, reasoning, tool_call or command_execution.

        It begins at byte text_from of the field, which is above 0 if the view began in
        the middle of the item.
        """
        return self._text.decode("utf-8", "replace")

    @property
    def text_bytes(self):
        """The bytes of text, which an offset may have cut inside a character."""
        return bytes(self._text)

    def __repr__(self):
        return f"<Item {self.item_id} {self.type} {self.status}{'' if self.live else ' superseded'}>"

    def _add(self, part):
        if not self._parts:
            self.created_seq, self.live = part.seq, part.live
        self._parts.append(part)
        if part.live == self.live:
            self._apply(part)
        elif part.live:  # a superseded item has a live event after all
            self._refold()

    def _refold(self):
        """Rebuilds the item from its live parts, or from all if none is live."""
        live = any(part.live for part in self._parts)
        self._dirty = False
        was, self.live = self.live, live
        if was and not live:
            return  # all else stays as it was
        self._empty()
        for part in self._parts:
            if part.live or not live:
                self._apply(part)

    def _apply(self, part):
        self.updated_seq, body = part.seq, part.body
        if part.method == "item/delta":
            self._grow(*body)
        elif part.method == "item/deleted":
            self.status = "deleted"
        else:
            self.status, self.truncated, has_content, content = body
            if has_content:
                self.content = content
                self.type, text = _growing(content)
                self.text_from, self._text = 0, bytearray(_utf8(text))

    def _grow(self, text, offset):
        """Puts text at its offset, in bytes: usually the end. If a server repeats itself, the offset decides."""
        at = offset - self.text_from
        if 0 <= at <= len(self._text):
            del self._text[at:]
        else:
            self.text_from, self._text = offset, bytearray()
        self._text += text


def _whole(text):
    """text with U+FFFD for half a surrogate pair, which has no bytes. Two halves are joined."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _utf8(text):
    return _whole(text).encode()


def _names(member):
    """Whether a member of params names something."""
    return member in ("cwd", "title", "name") or str(member).endswith("_id")


def _mended(value):
    """value without what a server refuses: halves of surrogate pairs, NaN, the infinities."""
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_whole(k) if isinstance(k, str) else k: _mended(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(v) for v in value]
    return value


def _growing(content):
    """The type of a content, and the text in it to which deltas are appended."""
    kind = content.get("type") if isinstance(content, dict) else None
    if not isinstance(kind, str):
        return "", ""
    text = None
    if kind == "agent_message":
        parts = content.get("content")
        first = parts[0] if isinstance(parts, list) and parts else None
        text = first.get("text") if isinstance(first, dict) else None
    elif kind == "reasoning":
        text = content.get("text")
    elif kind in ("tool_call", "command_execution"):
        text = content.get("output")
    return kind, text if isinstance(text, str) else ""


class _Part:
    """What is remembered of one event of a turn: body is what its method needs."""

    __slots__ = ("seq", "method", "item", "body", "lineage", "live")

    def __init__(self, seq, method, item, body, lineage, live):
        self.seq, self.method, self.item, self.body, self.lineage, self.live = seq, method, item, body, lineage, live

    def entry(self):
        return Entry(self.seq, self.method, self.item.item_id if self.item else "")


class Turn:
    """A turn as its live events leave it. It belongs to the View and changes with its next apply.

    state is queued, active, completed, interrupted or failed, "" if no live event says
    it. progress (starting, running, waiting, interrupting) and progress_message are of
    an active turn, origin of the live start, message of the live end, reason of either.
    attempt is the highest one seen, in markers too. steps are the Steps that have
    started, in the order of their first event.
    """

    def __init__(self, turn_id, thread_id):
        self.turn_id, self.thread_id, self.attempt = turn_id, thread_id, 0
        self._markers, self._hidden = Markers(), {}  # lineage → the seq above which it is superseded
        self._parts, self._late, self._items = [], [], {}
        self._empty()

    def _empty(self):
        self.state = self.progress = self.progress_message = self.origin = self.message = self.reason = ""
        self.steps = []

    def __repr__(self):
        return f"<Turn {self.turn_id} {self.state} attempt {self.attempt}>"

    @property
    def ended(self):
        """Tells whether a live event says that the turn has ended."""
        return self.state in ("completed", "interrupted", "failed")

    def items(self):
        """The items of the live view, withdrawn ones (deleted) too, in the order of their first events."""
        return [item for item in self._items.values() if item.live]

    def superseded(self):
        """The items of which nothing is live any more, as they were before."""
        return [item for item in self._items.values() if not item.live]

    def item(self, item_id):
        """An item, live or superseded; None if there is none of this id."""
        return self._items.get(item_id)

    def events(self):
        """The turn's Entries that were read but markers: the live ones, and the superseded ones with turn/late."""
        gone = [part.entry() for part in self._parts if not part.live]
        return [part.entry() for part in self._parts if part.live], sorted(gone + self._late)

    def _add(self, event):
        lineage = event.lineage or None
        if lineage and lineage not in self._hidden:
            self._hidden[lineage] = self._markers.hides(lineage)
        live = not self._stale(lineage, event.seq)
        part = _Part(event.seq, event.method, None, event.body, lineage, live)
        if event.method in _OF_ITEMS:
            part.item = self._items.setdefault(event.item_id, Item(event.item_id))
            part.item._add(part)
        elif live:
            self._apply(part)
        if live:
            self.attempt = max(self.attempt, event.attempt)
        self._parts.append(part)
        return part.item, live

    def _stale(self, lineage, seq):
        after = self._hidden[lineage] if lineage else None
        return after is not None and seq > after

    def _rewind(self, marker):
        """Supersedes what the marker says, and returns what was live of it."""
        if marker.step == "":
            self.attempt = max(self.attempt, marker.new_epoch)
        self._markers.add(marker)
        hidden = {lineage: self._markers.hides(lineage) for lineage in self._hidden}
        if hidden == self._hidden:
            return ()
        self._hidden, gone = hidden, []
        for part in self._parts:
            if part.live and self._stale(part.lineage, part.seq):
                part.live = False
                gone.append(part.entry())
                if part.item:
                    part.item._dirty = True
        if gone:
            self._refold()
        return gone

    def _refold(self):
        for item in self._items.values():
            if item._dirty:
                item._refold()
        self._empty()
        for part in self._parts:
            if part.live and not part.item:
                self._apply(part)

    def _apply(self, part):
        """Folds one live event of the turn itself or of a step."""
        method, body = part.method, part.body
        if method == "turn/queued":
            self.state, self.reason = "queued", body["reason"]
        elif method == "turn/started":
            self.state, self.origin, self.reason = "active", body["origin"], ""
            self.progress, self.progress_message = "running", ""
        elif method == "turn/progress":  # of a retried turn this may be all that is known
            self.state, self.progress, self.progress_message = "active", body["state"], body["message"]
        elif method in _ENDS:
            self.state, self.message, self.reason = method[len("turn/"):], body["message"], body["reason"]
            self.progress, self.progress_message = "", ""
        elif method in _OF_STEPS:
            for i, step in enumerate(self.steps):
                if step.path == body.path:
                    self.steps[i] = body
                    return
            self.steps.append(body)


_OF_ITEMS = ("item/created", "item/updated", "item/deleted", "item/delta")
_OF_STEPS = ("step/started", "step/ended")
_ENDS = ("turn/completed", "turn/interrupted", "turn/failed")
_OF_TURNS = ("turn/queued", "turn/started", "turn/progress") + _ENDS

_Event = namedtuple("_Event", "seq method thread_id turn_id item_id attempt lineage body")


def _get(params, name, kind):
    """A member; its zero value if it is absent or null. Another type is not of this protocol."""
    value = params.get(name)
    if value is None:
        return kind()
    if type(value) is not kind:
        raise TypeError(f"{name} is {type(value).__name__}")
    return value


def _parse(method, params):
    """What a fold reads of an event; TypeError if that is not of the protocol's form."""
    body, lineage = None, ()
    lineage = _pairs(_get(params, "lineage", list))
    step, epoch = _get(params, "step", str), _get(params, "epoch", int)
    if method == "item/delta":
        body = _utf8(_get(_get(params, "delta", dict), "text", str)), _get(params, "offset", int)
    elif method in _OF_ITEMS:
        body = _get(params, "status", str), _get(params, "truncated", bool), "content" in params, params.get("content")
    elif method in _OF_TURNS:
        body = {name: _get(params, name, str) for name in ("state", "message", "reason", "origin")}
    elif method in _OF_STEPS:
        body = Step(step, epoch, _get(params, "status", str) if method == "step/ended" else "")
    elif method == "stream/rewind":
        body = step, _get(params, "new_epoch", int), _get(params, "superseded_after_seq", int), _get(params, "reason", str)
    return _Event(_get(params, "seq", int), method, _get(params, "thread_id", str), _get(params, "turn_id", str),
                  _get(params, "item_id", str), _get(params, "attempt", int), lineage, body)


class View:
    """The live view of a log, as far as it has been read: the fold of its events by seq.

    Two readers that end at the same seq have the same view of what both have read,
    wherever they began, however often they reconnected, and whether or not the server
    collapsed for them. A reader that began in the middle does not know what came before.

    keep_ended turns that have ended are kept, and keep_turns in all; the ones whose
    last event is the oldest are forgotten first. None means that there is no bound.
    A View, and what it returns, belongs to one thread.
    """

    def __init__(self, keep_ended=64, keep_turns=4096):
        self._keep_ended = float("inf") if keep_ended is None else keep_ended
        self._keep_turns = float("inf") if keep_turns is None else keep_turns
        self._cursor = 0
        self._open, self._ended = OrderedDict(), OrderedDict()  # of turns, the one with the newest event last

    @property
    def cursor(self):
        """The seq up to which the view has read: where to resume."""
        return self._cursor

    def advance(self, seq):
        """Moves the cursor, never back: for the next_after_seq of a page."""
        self._cursor = max(self._cursor, seq)

    def apply(self, event):
        """Folds one event ({"method": …, "params": …}) and returns its Change."""
        method = event["method"]
        if method in ("stream/opened", "holon/log"):
            return _SKIPPED
        try:
            e = _parse(method, event.get("params") or {})
        except (TypeError, AttributeError):
            return _SKIPPED
        if method in ("stream/heartbeat", "stream/closing"):
            self.advance(e.seq)
            return _SKIPPED
        if e.seq <= self._cursor:  # what is not in the log has no seq
            return _SKIPPED
        self._cursor = e.seq
        if method == "stream/rewind":
            turn, marker = self._turn(e.turn_id, e.thread_id), Marker(e.seq, e.thread_id, e.turn_id, *e.body)
            change = Change("rewound", turn, None, marker, turn._rewind(marker))
            self._touch(turn)
            return change
        if not e.turn_id:
            return Change("joined", None, None, None, ())  # nothing supersedes it
        if method == "turn/late":
            turn = self.turn(e.turn_id)
            if turn:
                turn._late.append(Entry(e.seq, method, ""))
            return Change("late", turn, None, None, ())
        turn = self._turn(e.turn_id, e.thread_id)
        item, live = turn._add(e)
        self._touch(turn)
        return Change("joined" if live else "superseded", turn, item, None, ())

    def turn(self, turn_id):
        """A turn; None if it is not known or has been forgotten."""
        return self._open.get(turn_id) or self._ended.get(turn_id)

    def turns(self):
        """The turns that are kept, in no particular order."""
        return [*self._open.values(), *self._ended.values()]

    def forget(self, turn_id):
        """Drops a turn and its markers. What is read of it later is as if the view had begun there."""
        self._open.pop(turn_id, None)
        self._ended.pop(turn_id, None)

    def _turn(self, turn_id, thread_id):
        turn = self.turn(turn_id)
        if turn is None:
            turn = self._open[turn_id] = Turn(turn_id, thread_id)
        return turn

    def _touch(self, turn):
        """Makes the turn the newest of its kind, and forgets those above the bounds."""
        self.forget(turn.turn_id)
        (self._ended if turn.ended else self._open)[turn.turn_id] = turn
        while len(self._ended) > self._keep_ended:
            self._ended.popitem(last=False)
        while len(self._open) + len(self._ended) > self._keep_turns:
            (self._ended or self._open).popitem(last=False)


_SKIPPED = Change("skipped", None, None, None, ())
