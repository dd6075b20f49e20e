import Synchronization

/// The right of one listener to its address, from before it is bound to its end.
///
/// Of a port there is nothing to claim: the system keeps two listeners apart by itself.
final class AddressClaim: Sendable {
    let address: BrokerServer.Address
    private let socket = Mutex<UnixSocketClaim?>(nil)

    init(_ address: BrokerServer.Address) { self.address = address }

    func take() throws(UnixSocketClaim.Refused) {
        guard case .unixSocket(let path) = address else { return }
        let claim = try UnixSocketClaim(path: path)
        socket.withLock { $0 = claim }
    }

    /// For a listener that has just been bound.
    func didBind() {
        socket.withLock(\.self)?.didBind()
        address.openToGroup()
    }

    /// For a listener that has ended, or could not be bound.
    func release() {
        socket.withLock { socket in
            socket?.release()
            socket = nil
        }
    }
}
