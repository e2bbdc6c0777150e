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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
# Writing takes milliseconds: a temporary file this old (in seconds) belongs to a process that was killed.
_STALE_AFTER = 3600.0
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
LONGEST_EMPTY = (
    10**6
)  # an array without entries costs nothing, and whoever numbers its rows would pay for it
# What reading the first lines of an ``.npy`` member can raise: they are Python's notation for a dict.
_UNREADABLE = (
    ValueError, TypeError, OverflowError, RecursionError, SyntaxError, MemoryError, tokenize.TokenError
)  # fmt: skip
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StoreError(Exception):
    """The disk refused something; what was stored before is intact.

    Examples
    --------
    >>> Store(f"{__file__}/store")  # a file is in the way # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gqlib.sweeps.store.StoreError: cannot make the directory ...
    """


class DamagedFile(StoreError):
    """A file exists, but is not what it should be.

    Parameters
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with it, to follow the file's name in a message.

    Examples
    --------
    >>> read_file(Path(__file__))  # this module is no archive # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gqlib.sweeps.store.DamagedFile: ... does not match its digest (truncated, altered or foreign)
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


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
        than the usual deflate because zlib and its replacements do not agree on the compressed bytes.

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
        archive.writestr(_member(_HEADER, method), text)
        for name in sorted(arrays):
            archive.writestr(_member(f"{name}.npy", method), _npy(name, arrays[name]))
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
        If the last 64 bytes are not the digest of the others.

    Examples
    --------
    >>> unpack(pack({"seed": 7}, {}))
    ({'seed': 7}, {})
    """
    _check_digest(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = _members(archive)
    except (
        zipfile.BadZipFile,
        RuntimeError,
        OSError,
        EOFError,
        UnicodeError,
        MemoryError,
    ) as error:
        raise ValueError(
            f"the data is no archive of ours: {str(error) or type(error).__name__}"
        ) from error
    header = _header(members.pop(_HEADER, b""))
    return header, {
        name.removesuffix(".npy"): _array(name, members.pop(name)) for name in list(members)
    }


def _members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The members by name, after checking what the archive says of them: nothing too large is unpacked."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    strange = [name for name in names if not _MEMBER.fullmatch(name)]
    if strange or len(set(names)) < len(names):
        raise ValueError(
            f"the archive has a member {check.brief((strange or names)[0])}; pack writes no such member"
        )
    if sum(info.file_size for info in infos) > LARGEST_CONTENT:
        raise ValueError(f"the archive would unpack to more than {LARGEST_CONTENT} bytes")
    for info in infos:
        if info.filename == _HEADER and info.file_size > LARGEST_HEADER:
            raise ValueError(f"the header would unpack to more than {LARGEST_HEADER} bytes")
        if (
            info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)
            or info.flag_bits & _ENCRYPTED
        ):
            raise ValueError(
                f"the member {info.filename!r} is encrypted or compressed in another way than by pack"
            )
    return {info.filename: _content(archive, info) for info in infos}


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What a member holds; of one that is larger than it says, not more than it says is unpacked."""
    if info.compress_type == zipfile.ZIP_STORED:
        return archive.read(info)
    packed = copy.copy(
        info
    )  # the same member, as if it were stored: `zipfile` would unpack it whole
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
    del packed.CRC
    unpacker = bz2.BZ2Decompressor()
    content = unpacker.decompress(archive.read(packed), max_length=info.file_size + 1)
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise ValueError(f"the member {info.filename!r} is not what the archive says of it")
    return content


def _header(member: bytes) -> Header:
    try:
        header = json.loads(member)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the header is no JSON that pack would write: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"the header is {check.brief(header)}; it should be a JSON object")
    if (
        canonical_json(header).encode() != member
    ):  # a name twice, NaN, other spaces: read by others, it may say more
        raise ValueError("the header is not in the one form in which pack writes it")
    return header


def _array(name: str, member: bytes) -> NDArray[Any]:
    """The array in an ``.npy`` member, if the member holds exactly what it announces."""
    file = io.BytesIO(member)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("it is not of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if (
            dtype.kind not in _KINDS
            or dtype.itemsize == 0
            or fortran
            or any(size < 0 for size in shape)
        ):
            raise ValueError(f"it announces {dtype} of shape {shape}")
        body = memoryview(member)[file.tell() :]
        if len(body) != dtype.itemsize * math.prod(shape) or _long_and_empty(shape):
            raise ValueError(f"it announces {dtype} of shape {shape} and has {len(body)} bytes")
        if _beyond_kind(body, dtype):
            raise ValueError(f"it announces {dtype} and has bytes that stand for none")
        return np.frombuffer(body, dtype=dtype).reshape(shape).copy()
    except _UNREADABLE as error:
        raise ValueError(
            f"the member {name!r} is no array: {' '.join(str(error).split())}"
        ) from error


def _beyond_kind(body: memoryview, dtype: np.dtype[Any]) -> bool:
    """Whether there are letters beyond those of Unicode, or truths beyond 0 and 1: NumPy takes them, others crash."""
    if dtype.kind == "U":
        letters = np.frombuffer(body, dtype=np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        return bool(letters.max(initial=0) > sys.maxunicode)
    return dtype.kind == "b" and bool(np.frombuffer(body, dtype=np.uint8).max(initial=0) > 1)


def _check_digest(data: bytes) -> None:
    check.instance("data", data, bytes)
    body, digest = memoryview(data)[:-_DIGEST_LENGTH], data[-_DIGEST_LENGTH:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(
            "the content of the data does not match its digest (truncated, altered or foreign)"
        )


def write_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that it is there in full or not at all, and on disk when this returns.

    Raises
    ------
    StoreError
        If the disk is full or refuses for another reason; the temporary file is then removed, and whatever was
        at `path` before is still there.

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
    partial = path.with_name(f"{_PARTIAL}{path.name}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        if (path.is_char_device() or path.is_block_device()) and not path.is_symlink():
            raise StoreError(
                f"cannot write {path}: it is a device"
            )  # which the rename would put an end to
        with _removed_on_failure(partial):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with open(descriptor, "wb", buffering=0) as file:
                remaining = memoryview(data)
                while remaining:
                    remaining = remaining[os.write(file.fileno(), remaining) :]
                os.fsync(file.fileno())
            os.replace(partial, path)
        _flush_directory(path.parent)
    except OSError as error:
        reason = "the disk is full" if error.errno in _FULL else error.strerror
        raise StoreError(f"cannot write {path}: {reason}") from error


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


def read_file(path: Path) -> tuple[Header, Arrays]:
    """Return the header and arrays of the archive at `path`.

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
    path = check.path("path", path)
    try:
        return unpack(_bytes(path))
    except ValueError as error:
        raise DamagedFile(path, str(error)) from error


def _bytes(path: Path) -> bytes:
    """What is in a file; a pipe would be waited for, and a device has no end."""
    try:
        if path.exists() and not path.is_file():
            raise DamagedFile(path, "cannot be read: it is no regular file")
        if path.stat().st_size > 2 * LARGEST_CONTENT:
            raise DamagedFile(path, f"cannot be read: it has more than {2 * LARGEST_CONTENT} bytes")
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(path, f"cannot be read: {error.strerror}") from error


class Store:
    """A directory of archives, one for each finished task.

    Parameters
    ----------
    directory : path
        Created if it does not exist. Temporary files that killed processes left behind more than an hour ago
        are removed.

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
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the directory {self.directory}: {error.strerror}"
            ) from error
        now = time.time()
        for partial in self.directory.glob(f"{_PARTIAL}*"):
            with contextlib.suppress(OSError):  # another process may remove it at the same time
                if now - partial.stat().st_mtime > _STALE_AFTER:
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
                for name in os.listdir(self.directory)
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
        try:
            data = _bytes(path)
            _check_digest(data)
        except FileNotFoundError:
            return False
        except ValueError as error:
            raise DamagedFile(path, str(error)) from error
        if not data.startswith(wanted.encode(), _HEADER_OFFSET):
            raise DamagedFile(path, _OTHER_TASK)
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
        try:
            found, arrays = read_file(path)
        except FileNotFoundError:
            return None
        if canonical_json(found) != wanted:
            raise DamagedFile(path, _OTHER_TASK)
        return arrays

    def put(self, name: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store `arrays` as `name`; they are safe on disk when this returns."""
        write_file(self.path(name), pack(header, arrays))
