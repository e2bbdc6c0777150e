"""Arrays on disk that are either complete or recognised as incomplete.

One file format serves both the store of a sweep and the committed results: an ordinary ``.npz`` archive (a
zip of ``.npy`` members, no pickles, readable by :func:`numpy.load`) with two additions. The member
``header.json`` says what the arrays are and which settings made them. The archive's comment, its last 64
bytes, is the SHA-256 of all bytes before it, so a truncated, altered or foreign file is recognised before
anything in it is trusted.

The bytes are a function of the content alone: members in a fixed order, no time stamps, little-endian arrays
in C order. Files appear in full or not at all: they are written under a temporary name in the same directory,
flushed to disk and renamed, and the directory is flushed too. A process killed at any instant leaves at most
a temporary file, and two processes that write the same file write the same bytes, so it does not matter which
of them is last.
"""

from __future__ import annotations

import bz2
import contextlib
import copy
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import sys
import time
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check

__all__ = [
    "DamagedFile",
    "Store",
    "StoreError",
    "canonical_json",
    "pack",
    "read_file",
    "unpack",
    "write_file",
]

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]
Expect = Callable[[Header, Arrays], None]
Found = TypeVar("Found")

_HEADER = "header.json"
_HEADER_OFFSET = 30 + len(
    _HEADER
)  # of an uncompressed first member: after 30 bytes of zip header and its name
_OTHER_TASK = "holds the result of another task"
_DIGEST_LENGTH = 64  # a SHA-256 in hexadecimal
_EPOCH = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the earliest time a zip archive can hold, in place of the time of writing
_REGULAR_FILE = 0o100644 << 16  # "-rw-r--r--" as Unix zip attributes
_UNIX = 3  # zip's number for the system that wrote the member
_PARTIAL = ".partial-"
_WRITER = re.compile(rf"{re.escape(_PARTIAL)}.+-([0-9a-f]{{12}})-([0-9]{{1,9}})-[0-9a-f]+")
_MEMBER = re.compile(
    rf"{re.escape(_HEADER)}|[^/\\\0:]+\.npy"
)  # no way out of a directory it might be unpacked to
_ENCRYPTED = 0x1  # zip's flag
_KINDS = "biufcSU"  # numbers, booleans and fixed-width strings
LARGEST_CONTENT = (
    2**32
)  # bytes in an archive's members; the largest result here takes a few megabytes
LARGEST_HEADER = (
    2**26
)  # bytes; as objects they take twenty times as much, and the longest here has 300 kB
MOST_ARRAYS = 1000  # in an archive: to look at one takes milliseconds, and a hundred bytes
# The memory that reading a file may take: so much, and so many times the size of the file. Other users than zeros
# and flags do not come near: the committed results unpack to less than ten times their size.
FREE, RATIO = 2**26, 100
# Bytes of memory beside its own that readers come to need: for a letter of JSON (objects), for a text (which is an object
# as a label), for a number (a mean, a copy as float64).
_PER_LETTER, _PER_TEXT, _PER_NUMBER = 40, 64, 16
_PIECE, _FIRST_LINES = 2**20, 2**14  # bytes that are read at a time, and to know an array
LONGEST_EMPTY = (
    10**6
)  # an array without entries costs nothing, and whoever numbers its rows would pay for it
# What reading the first lines of an ``.npy`` member can raise: they are Python's notation for a dict.
_UNREADABLE = (
    ValueError, TypeError, OverflowError, RecursionError, SyntaxError, MemoryError, tokenize.TokenError
)  # fmt: skip
# What passes on a disk, or on one across a network; seconds until the next of five tries; and what waits.
_PASSING = {errno.EIO, errno.EBUSY, errno.ESTALE, errno.EAGAIN, errno.ETIMEDOUT}
PAUSES = (0.1, 0.5, 2.0, 5.0)
pause = time.sleep
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StoreError(Exception):
    """The disk refused something; what was stored before is intact.

    Examples
    --------
    >>> Store(f"{__file__}/store")  # a file is in the way # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gqlib.sweeps.store.StoreError: cannot make the directory ...
    """


class BadMoment(StoreError):
    """The disk refused something again and again that may go well later."""


class DamagedFile(StoreError):
    """A file exists, but is not what it should be.

    Parameters
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with it, to follow the file's name in a message.
    code : str
        The same in a word, for programs.

    Examples
    --------
    >>> read_file(Path(__file__))  # this module is no archive # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gqlib.sweeps.store.DamagedFile: ... does not match its digest (truncated, altered or foreign)
    """

    def __init__(self, path: Path, reason: str, code: str = "content") -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason, self.code = path, reason, code


class Refused(ValueError):
    """What was read is not what it should be; `code` says in a word why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def canonical_json(value: object) -> str:
    """Write `value` as JSON in the one form that is used for hashing and storing.

    Examples
    --------
    >>> canonical_json({"sigma": 0.5, "alpha": (1, 2)})
    '{"alpha":[1,2],"sigma":0.5}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"header or value is {check.brief(value)}; JSON should hold it ({error})"
        ) from None


def pack(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, compact: bool = False
) -> bytes:
    """Return the bytes of an archive, the same bytes for the same content on every machine.

    Parameters
    ----------
    header : mapping
        Anything JSON can hold.
    arrays : mapping of str to ndarray
        Numbers, booleans or fixed-width strings; not objects.
    compact : bool
        Compress the members with bzip2, slower than the default (no compression) but smaller. It is bzip2 rather
        than the usual deflate because zlib and its replacements do not agree on the compressed bytes. What would become
        so small that `unpack` refuses it (very many zeros) is not compressed.

    Examples
    --------
    >>> header, arrays = unpack(pack({"seed": 7}, {"steps": np.arange(3)}))
    >>> header, arrays["steps"]
    ({'seed': 7}, array([0, 1, 2]))
    """
    check.members("header", header)
    check.members("arrays", arrays)
    method = zipfile.ZIP_BZIP2 if check.flag("compact", compact) else zipfile.ZIP_STORED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * _DIGEST_LENGTH
        text = canonical_json(dict(header))
        if len(text) > LARGEST_HEADER:
            raise ValueError(
                f"header has {len(text)} bytes as JSON; it should have at most {LARGEST_HEADER}"
            )
        if len(arrays) > MOST_ARRAYS:
            raise ValueError(f"arrays are {len(arrays)}; they should be at most {MOST_ARRAYS}")
        archive.writestr(_member(_HEADER, method), text)
        for name in sorted(arrays):
            archive.writestr(_member(f"{name}.npy", method), _npy(name, arrays[name]))
    size = buffer.tell()
    if compact and _needed(len(text), map(np.asarray, arrays.values())) > FREE + RATIO * size:
        return pack(header, arrays)
    body = buffer.getvalue()[:-_DIGEST_LENGTH]
    return body + hashlib.sha256(body).hexdigest().encode()


def _member(name: str, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type, info.create_system, info.external_attr = method, _UNIX, _REGULAR_FILE
    return info


def check_storable(name: Any, array: NDArray[Any]) -> None:
    """Refuse what could not be read again: names of files elsewhere, objects."""
    if not isinstance(name, str) or not _MEMBER.fullmatch(f"{name}.npy"):
        raise ValueError(
            f"arrays has the name {check.brief(name)}; it should be text without / \\ : and NUL"
        )
    if array.dtype.kind not in _KINDS:
        raise ValueError(
            f"arrays has {name!r} of dtype {array.dtype}; expected numbers, booleans or strings"
        )
    if _long_and_empty(array.shape):
        raise ValueError(
            f"arrays has {name!r} of shape {array.shape}; without entries it should have shorter axes"
        )


def _long_and_empty(shape: tuple[int, ...]) -> bool:
    return 0 in shape and max(shape) > LONGEST_EMPTY


def _npy(name: str, array: NDArray[Any]) -> bytes:
    array = np.asarray(array)
    check_storable(name, array)
    little_endian = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, little_endian, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def unpack(data: bytes) -> tuple[Header, Arrays]:
    """Return the header and arrays of an archive made by :func:`pack`.

    Raises
    ------
    ValueError
        If the last 64 bytes are not the digest of the others, or the archive is not as `pack` makes it. The error's
        `code` is one word for what is wrong.

    Examples
    --------
    >>> unpack(pack({"seed": 7}, {}))
    ({'seed': 7}, {})
    """
    check.instance("data", data, bytes)
    file = io.BytesIO(data)
    _check_digest(file)
    return _unpacked(file)


def _unpacked(file: BinaryIO, expect: Expect | None = None) -> tuple[Header, Arrays]:
    """What an archive holds, after a look at its directory and at the first lines of its members."""
    room = FREE + RATIO * file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            infos = {info.filename: info for info in _members(archive)}
            head = infos.pop(_HEADER, None)
            infos = {name.removesuffix(".npy"): info for name, info in infos.items()}
            likes = {name: _announced(archive, info) for name, info in infos.items()}
            needed = _needed(head.file_size if head else 0, likes.values())
            if needed > room:
                wanted = f"{room} for one of its size (gqlib.sweeps.store.FREE is the first part of that)"
                raise Refused(
                    "ratio",
                    f"the archive would take {needed} bytes of memory; it should take at most {wanted}",
                )
            header = _header(_filled(archive, head, bytearray(head.file_size)) if head else b"")
            if expect is not None:
                expect(header, likes)
            return header, {
                name: _array(archive, infos[name], like) for name, like in likes.items()
            }
    except (
        zipfile.BadZipFile,
        RuntimeError,
        OSError,
        EOFError,
        UnicodeError,
        MemoryError,
    ) as error:
        if getattr(error, "errno", None) is not None:  # it is the disk's
            raise
        told = str(error) or type(error).__name__
        raise Refused("archive", f"the data is no archive of ours: {told}") from error


def _needed(header: int, arrays: Iterable[NDArray[Any]]) -> int:
    """Bytes of memory that readers may come to need for a header of this length and for such arrays."""
    beside = {"S": _PER_TEXT, "U": _PER_TEXT}
    return _PER_LETTER * header + sum(
        array.size * (array.itemsize + beside.get(array.dtype.kind, _PER_NUMBER))
        for array in arrays
    )


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members, after checking what the directory says of them."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    strange = [name for name in names if not _MEMBER.fullmatch(name)]
    if strange or len(set(names)) < len(names):
        told = check.brief((strange or names)[0])
        raise Refused("name", f"the archive has a member {told}; pack writes no such member")
    if len(infos) > MOST_ARRAYS + 1:
        raise Refused("count", f"the archive has more than {MOST_ARRAYS} arrays")
    if sum(info.file_size for info in infos) > LARGEST_CONTENT:
        raise Refused("size", f"the archive would unpack to more than {LARGEST_CONTENT} bytes")
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.filename == _HEADER and info.file_size > LARGEST_HEADER:
            raise Refused("size", f"the header would unpack to more than {LARGEST_HEADER} bytes")
        if (
            info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)
            or info.flag_bits & _ENCRYPTED
        ):
            told = "is encrypted or compressed in another way than by pack"
            raise Refused("method", f"the member {info.filename!r} {told}")
        before, end = end, info.header_offset + 30 + len(info.filename) + info.compress_size
        if info.header_offset < before or end > archive.start_dir:
            raise Refused("overlap", f"the member {info.filename!r} is not in a place of its own")
    return infos


@contextlib.contextmanager
def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """A member, unpacked as far as it is read: `zipfile` would unpack all that a few bytes stand for."""
    packed = copy.copy(info)  # the same member, as if it were stored
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
    del packed.CRC
    with archive.open(packed) as stream:
        yield stream if info.compress_type == zipfile.ZIP_STORED else bz2.BZ2File(stream)


def _filled(archive: zipfile.ZipFile, info: zipfile.ZipInfo, body: Any) -> Any:
    """Put the last bytes of a member into `body`, and return it; refuse a member that is not what the archive says."""
    view = memoryview(body)
    with _opened(archive, info) as stream:
        piece = stream.read(info.file_size - len(view))  # the first lines of an array
        place, crc = 0, zlib.crc32(piece)
        while piece := stream.read(min(_PIECE, len(view) - place)):
            view[place : place + len(piece)] = piece
            place, crc = place + len(piece), zlib.crc32(piece, crc)
        if place < len(view) or crc != info.CRC or stream.read(1):
            raise Refused("lie", f"the member {info.filename!r} is not what the archive says of it")
    return body


def _header(member: bytes) -> Header:
    try:
        header = json.loads(member)
    except (ValueError, RecursionError) as error:
        raise Refused("json", f"the header is no JSON that pack would write: {error}") from error
    if not isinstance(header, dict):
        told = f"the header is {check.brief(header)}; it should be a JSON object"
        raise Refused("json", told)
    try:
        same = canonical_json(header).encode() == member
    except ValueError as error:
        raise Refused("form", str(error)) from error
    if not same:  # a name twice, other spaces: read by others, it may say more
        raise Refused("form", "the header is not in the one form in which pack writes it")
    return header


def _announced(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array like that of an ``.npy`` member, of one number, if the member is as long as it announces."""
    try:
        with _opened(archive, info) as stream:
            lines = io.BytesIO(stream.read(_FIRST_LINES))
        if np.lib.format.read_magic(lines) != (1, 0):
            raise ValueError("it is not of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(lines)
        length = info.file_size - lines.tell()
        if (
            dtype.kind not in _KINDS
            or dtype.itemsize == 0
            or fortran
            or any(size < 0 for size in shape)
        ):
            raise Refused("kind", f"it announces {dtype} of shape {shape}")
        if length != dtype.itemsize * math.prod(shape) or _long_and_empty(shape):
            raise Refused("length", f"it announces {dtype} of shape {shape} and has {length} bytes")
        return np.broadcast_to(np.zeros((), dtype), shape)
    except _UNREADABLE as error:
        told = " ".join(str(error).split())
        code = getattr(error, "code", "npy")
        raise Refused(code, f"the member {info.filename!r} is no array: {told}") from error


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, like: NDArray[Any]) -> NDArray[Any]:
    """The array of a member, read into its place."""
    array = np.empty(like.shape, like.dtype)
    flat = array.reshape(-1)
    _filled(archive, info, flat.view(np.uint8))
    if _beyond_kind(flat):
        told = f"is no array: it announces {array.dtype} and has bytes that stand for none"
        raise Refused("kind", f"the member {info.filename!r} {told}")
    return array


def _beyond_kind(flat: NDArray[Any]) -> bool:
    """Whether there are letters beyond those of Unicode, or truths beyond 0 and 1: NumPy takes them, others crash."""
    if flat.dtype.kind == "U":
        letters = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        return bool(letters.max(initial=0) > sys.maxunicode)
    return flat.dtype.kind == "b" and bool(flat.view(np.uint8).max(initial=0) > 1)


def _check_digest(file: BinaryIO) -> None:
    left = file.seek(0, os.SEEK_END) - _DIGEST_LENGTH
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    if digest.hexdigest().encode() != file.read():
        raise Refused(
            "digest",
            "the content of the data does not match its digest (truncated, altered or foreign)",
        )


def write_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that it is there in full or not at all, and on disk when this returns.

    Raises
    ------
    StoreError
        If the disk is full or refuses for another reason; the temporary file is then removed, and whatever was
        at `path` before is still there. What may pass is tried five times before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_file(Path(directory, "seven"), b"7")
    ...     os.listdir(directory)
    ['seven']
    """
    path = check.path("path", path)
    check.instance("data", data, bytes)
    if not path.name:
        raise ValueError(f"path is {str(path)!r}; it should name a file")
    try:
        _tried(lambda: _put(path, data))
    except OSError as error:
        kind = BadMoment if error.errno in _PASSING else StoreError
        reason = "the disk is full" if error.errno in _FULL else error.strerror
        raise kind(f"cannot write {path}: {reason}") from error


def _put(path: Path, data: bytes) -> None:
    if (path.is_char_device() or path.is_block_device()) and not path.is_symlink():
        raise StoreError(
            f"cannot write {path}: it is a device"
        )  # which the rename would put an end to
    writer = f"{_here()}-{os.getpid()}-{secrets.token_hex(4)}"
    partial = path.with_name(f"{_PARTIAL}{path.name}-{writer}")
    with _removed_on_failure(partial):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "wb", buffering=0) as file:
            remaining = memoryview(data)
            while remaining:
                remaining = remaining[os.write(file.fileno(), remaining) :]
            os.fsync(file.fileno())
        try:
            os.replace(partial, path)
        except OSError:
            if not path.is_file() or path.read_bytes() != data:
                raise
            partial.unlink(missing_ok=True)  # it was renamed, and the reply was lost
    _flush_directory(path.parent)


def _tried(act: Callable[[], Found]) -> Found:
    """What `act` returns; where a disk or a network has a bad moment, it is called again after a while."""
    for seconds in PAUSES:
        try:
            return act()
        except OSError as error:
            if error.errno not in _PASSING:
                raise
        pause(seconds)
    return act()


@cache
def _here() -> str:
    """A mark of the processes that this one sees: those of a machine since it was started, or of a container."""
    try:
        seen = Path("/proc/sys/kernel/random/boot_id").read_text() + os.readlink(
            "/proc/self/ns/pid"
        )
    except OSError:
        return ""
    return hashlib.sha256(seen.encode()).hexdigest()[:12]


def _is_left_behind(partial: Path) -> bool:
    """Whether the writer of a temporary file is known to have ended; clocks differ, and other machines are not seen."""
    writer = _WRITER.fullmatch(partial.name)
    if not writer or writer[1] != _here():
        return False
    try:
        os.kill(int(writer[2]), 0)  # no signal, but a look
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def _removed_on_failure(partial: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def _flush_directory(directory: Path) -> None:
    if (
        os.name != "posix"
    ):  # elsewhere a directory cannot be opened, and a rename needs no second flush
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path, expect: Expect | None = None) -> tuple[Header, Arrays]:
    """Return the header and arrays of the archive at `path`.

    Parameters
    ----------
    path : path
    expect : callable, optional
        Called before arrays are unpacked, with the header and with arrays that have the types and shapes of those in the
        file and take no memory; it raises a ValueError where they are not what the reader wants.

    Raises
    ------
    DamagedFile
        If it is incomplete, or not one of ours.
    FileNotFoundError
        If there is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_file(Path(directory, "seven"), pack({"seed": 7}, {}))
    ...     read_file(Path(directory, "seven"))
    ({'seed': 7}, {})
    """
    return _looked_into(check.path("path", path), lambda file: _unpacked(file, expect))


def _looked_into(path: Path, look: Callable[[BinaryIO], Found]) -> Found:
    """What `look` finds in a file with a right digest; a pipe would be waited for, and a device has no end."""

    def once() -> Found:
        if path.exists() and not path.is_file():
            raise DamagedFile(path, "cannot be read: it is no regular file", "unread")
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) > 2 * LARGEST_CONTENT:
                told = f"cannot be read: it has more than {2 * LARGEST_CONTENT} bytes"
                raise DamagedFile(path, told, "size")
            _check_digest(file)
            return look(file)

    try:
        return _tried(once)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(path, f"cannot be read: {error.strerror}", "unread") from error
    except ValueError as error:
        raise DamagedFile(path, str(error), getattr(error, "code", "content")) from error


class Store:
    """A directory of archives, one for each finished task.

    Parameters
    ----------
    directory : path
        Created if it does not exist. Temporary files of processes of this machine that were killed since it was started
        are removed; those of other machines may be in use, and stay.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = Store(directory)
    ...     store.put("first", {"seed": 7}, {"steps": np.arange(3)})
    ...     store.get("first", {"seed": 7})["steps"], store.get("second", {"seed": 7})
    ...     store.has("first", {"seed": 7}), store.path("first").name, store.names()
    (array([0, 1, 2]), None)
    (True, 'first.npz', ['first'])
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = check.path("directory", directory)
        try:
            _tried(lambda: self.directory.mkdir(parents=True, exist_ok=True))
        except OSError as error:
            raise StoreError(
                f"cannot make the directory {self.directory}: {error.strerror}"
            ) from error
        for partial in filter(_is_left_behind, self.directory.glob(f"{_PARTIAL}*")):
            with contextlib.suppress(OSError):  # another process may remove it at the same time
                partial.unlink()

    def path(self, name: str) -> Path:
        """Return where the archive called `name` is or would be."""
        if not isinstance(name, str) or not name or "\0" in name or "/" in name or "\\" in name:
            raise ValueError(f"name is {check.brief(name)}; it should name a file in the store")
        return self.directory / f"{name}.npz"

    def names(self) -> list[str]:
        """Return the names of all archives that are there, unread and in no particular order."""
        try:
            return [
                name.removesuffix(".npz")
                for name in _tried(lambda: os.listdir(self.directory))
                if name.endswith(".npz")
            ]
        except OSError as error:
            raise StoreError(
                f"cannot list the directory {self.directory}: {error.strerror}"
            ) from error

    def has(self, name: str, header: Mapping[str, Any]) -> bool:
        """Return whether `name` is stored, complete and with this header, without reading its arrays.

        Raises
        ------
        DamagedFile
            As from :meth:`get`, of which this is the quick form: it compares the header as bytes, where
            :func:`pack` put them.
        """
        path, wanted = self.path(name), canonical_json(dict(check.members("header", header)))

        def begins(file: BinaryIO) -> None:
            file.seek(_HEADER_OFFSET)
            if file.read(len(wanted)) != wanted.encode():
                raise Refused("task", _OTHER_TASK)

        try:
            _looked_into(path, begins)
        except FileNotFoundError:
            return False
        return True

    def get(self, name: str, header: Mapping[str, Any]) -> Arrays | None:
        """Return the arrays stored as `name`, or None if there are none.

        Raises
        ------
        DamagedFile
            If the file is damaged, or complete but with a header other than `header`: it is never trusted, and
            has to be made again.
        """
        path, wanted = self.path(name), canonical_json(dict(check.members("header", header)))

        def ours(found: Header, arrays: Arrays) -> None:
            if canonical_json(found) != wanted:
                raise Refused("task", _OTHER_TASK)

        try:
            return read_file(path, ours)[1]
        except FileNotFoundError:
            return None

    def put(self, name: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store `arrays` as `name`; they are safe on disk when this returns."""
        write_file(self.path(name), pack(header, arrays))
