import Crypto
package import NativeSSO
import Synchronization

/// The MAC keys of the key module, in software and known to everybody: refresh-token keys 1 and 2, and a device key.
package final class SoftwareMACKeys: RefreshTokenAuthenticator, DeviceDigester, RecordAuthenticator {
    private struct State {
        var currentKeyID: UInt8
        var ring: Set<UInt8> = [1, 2]
        var failure: PortError?
        var issuingFailure: PortError?
    }

    private let state: Mutex<State>

    package init(currentKeyID: UInt8 = 1) { state = Mutex(State(currentKeyID: currentKeyID)) }

    /// The key under which new tokens are made from now on. One that is not in the ring makes a defect.
    package func use(keyID: UInt8) { state.withLock { $0.currentKeyID = keyID } }

    /// Takes a refresh-token key away, with every token made under it.
    package func remove(keyID: UInt8) { state.withLock { _ = $0.ring.remove(keyID) } }

    /// What every further call throws; `nil`: they work again.
    package func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    /// What ``checkIssuing()`` throws, and nothing else does.
    package func suspendIssuing(with failure: PortError?) { state.withLock { $0.issuingFailure = failure } }

    package func checkIssuing() throws(PortError) {
        if let failure = state.withLock({ $0.issuingFailure }) { throw failure }
    }

    package var currentKeyID: UInt8 {
        get throws(PortError) { try look().currentKeyID }
    }

    /// Under key 1 a key of 32 octets 01, under key 2 one of 32 octets 02.
    package func beginTag(_ message: [UInt8], keyID: UInt8) -> Pending<[UInt8]?, PortError> {
        Pending { () throws(PortError) in
            try look().ring.contains(keyID) ? mac(message, keyOctet: keyID) : nil
        }
    }

    package func digest(_ device: DeviceValue, at issuer: Issuer) throws(PortError) -> DeviceDigest {
        _ = try look()
        // An issuer is printable ASCII, so the zero octet ends it.
        let message = Array(issuer.string.utf8) + [0, device.profile == .deviceID ? 0 : 1] + device.octets
        guard let digest = DeviceDigest(octets: mac(message, keyOctet: 0xD0)) else {
            throw .broken("HMAC-SHA-256 is 32 octets")
        }
        return digest
    }

    package func tag(_ kind: AuthenticatedRecord, _ fields: [[UInt8]]) throws(PortError) -> [UInt8] {
        _ = try look()
        // Each field as text with its length before it: no two lists give the same octets.
        let message = fields.flatMap { Array("\($0.count):".utf8) + $0 }
        return mac(Array("\(kind.rawValue)\0".utf8) + message, keyOctet: 0xD1)
    }

    private func look() throws(PortError) -> State {
        let state = state.withLock { $0 }
        if let failure = state.failure { throw failure }
        return state
    }

    private func mac(_ message: [UInt8], keyOctet: UInt8) -> [UInt8] {
        let key = SymmetricKey(data: [UInt8](repeating: keyOctet, count: 32))
        return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
    }
}
