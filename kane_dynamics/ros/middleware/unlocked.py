"""Requests and responses through the C interface of ROS, without Python's lock.

rclpy keeps the lock while the middleware reads or writes a message, 15 ms for 50 000 points, and no
joint state is served meanwhile. Only the conversion into Python's objects and back needs the lock,
and lets it go between two objects.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy.service import Service
from rclpy.type_support import check_for_type_support

_OK, _TIMEOUT, _NOTHING_TAKEN = 0, 2, 601  # rcl_ret_t

_POINTER = ctypes.c_void_p


class RequestId(ctypes.Structure):
    """Which request of which client: rmw_request_id_t."""

    _fields_ = (("writer_guid", ctypes.c_int8 * 16), ("sequence_number", ctypes.c_int64))


class _ServiceInfo(ctypes.Structure):
    """rmw_service_info_t."""

    _fields_ = (
        ("source_timestamp", ctypes.c_int64),
        ("received_timestamp", ctypes.c_int64),
        ("request_id", RequestId),
    )


class UnlockedService:
    """Takes requests of a service, and sends responses.

    Raises AttributeError, OSError, ValueError if this is another version of ROS.
    """

    def __init__(self, service: Service) -> None:
        kind: Any = service.srv_type
        check_for_type_support(kind)
        self._service = service
        self._request, self._response = _Conversion(kind.Request), _Conversion(kind.Response)
        rcl = ctypes.CDLL("librcl.so")  # which rclpy has loaded
        self._take = rcl.rcl_take_request_with_info
        self._take.argtypes = (_POINTER, ctypes.POINTER(_ServiceInfo), _POINTER)
        self._send = rcl.rcl_send_response
        self._send.argtypes = (_POINTER, ctypes.POINTER(RequestId), _POINTER)
        self._reset_error = ctypes.CDLL("librcutils.so").rcutils_reset_error
        self._reset_error.restype = None
        self._send_locked = service.send_response

    def take(self) -> tuple[Any, RequestId | None]:
        """The next request and whose it is; two times None if there is none."""
        message, info = self._request.create(), _ServiceInfo()
        try:
            with self._service.handle:
                status = self._take(self._service.handle.pointer, ctypes.byref(info), message)
            if status == _NOTHING_TAKEN:
                self._reset_error()
                return None, None
            self._check(status, "a request could not be taken")
            return self._request.to_python(message), info.request_id
        finally:
            self._request.destroy(message)

    def send(self, response: Any, header: Any) -> None:
        """Send a response; `header` is what `take`, or else rclpy, gave with the request."""
        if not isinstance(header, RequestId):
            self._send_locked(response, header)
            return
        message = self._response.create()
        try:
            if not self._response.from_python(response, message):
                raise ValueError("the response could not be converted")
            with self._service.handle:
                status = self._send(self._service.handle.pointer, ctypes.byref(header), message)
            if status == _TIMEOUT:  # the client is gone
                self._reset_error()
                return
            self._check(status, "a response could not be sent")
        finally:
            self._response.destroy(message)

    def _check(self, status: int, sentence: str) -> None:
        if status != _OK:
            self._reset_error()
            raise RuntimeError(f"{sentence}: rcl gave the status {status}")


class _Conversion:
    """Messages of one type in C and in Python; the functions that rclpy uses, too."""

    def __init__(self, kind: Any) -> None:
        create = _function(kind._CREATE_ROS_MESSAGE)
        to_python, from_python = _function(kind._CONVERT_TO_PY), _function(kind._CONVERT_FROM_PY)
        # A PYFUNCTYPE keeps Python's lock, a CFUNCTYPE lets it go.
        self.create: Callable[[], int] = ctypes.CFUNCTYPE(_POINTER)(create)
        self.destroy: Callable[[int], None] = ctypes.CFUNCTYPE(None, _POINTER)(
            _function(kind._DESTROY_ROS_MESSAGE)
        )
        self.to_python: Callable[[int], Any] = ctypes.PYFUNCTYPE(ctypes.py_object, _POINTER)(
            to_python
        )
        self.from_python: Callable[[Any, int], bool] = ctypes.PYFUNCTYPE(
            ctypes.c_bool, ctypes.py_object, _POINTER
        )(from_python)


def _function(capsule: Any) -> int:
    """Address of the function in a capsule."""
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.argtypes, address.restype = (ctypes.py_object, ctypes.c_char_p), _POINTER
    return int(address(capsule, None))


def unlocked(service: Service) -> UnlockedService | None:
    """Another way to take requests and send responses of a service, where there is one."""
    with suppress(AttributeError, OSError, TypeError, ValueError):
        return UnlockedService(service)
    return None
