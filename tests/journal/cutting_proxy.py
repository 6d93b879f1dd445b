"""A proxy on loopback that cuts a connection to PostgreSQL in the middle of a commit."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from typing import Literal

Cut = Literal["before", "after"]
"""Cut when a COMMIT comes by: before the server gets it, or after it got it but nobody hears."""


class CuttingProxy:
    """Passes everything on, except where it was told to cut."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._cuts: list[Cut] = []
        self.done: list[Cut] = []
        self.refuses = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next(self, how: Cut) -> None:
        """Cut at the next COMMIT."""
        self._cuts.append(how)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                    continue
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, suppress(OSError):
            while True:
                for side in select.select([client, server], [], [])[0]:
                    data = side.recv(1 << 16)
                    if not data:
                        return
                    if side is server:
                        client.sendall(data)
                    elif b"COMMIT" in data and self._cuts:
                        how = self._cuts.pop(0)
                        self.done.append(how)
                        if how == "after":
                            server.sendall(data)
                            server.recv(1)  # it has answered, so it was committed
                        return
                    else:
                        server.sendall(data)
