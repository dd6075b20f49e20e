package import NativeSSO
package import StrictCoding
import Synchronization

/// Makes compact JWSs without a real signature: the algorithm is `stub`, the signature a fixed text.
package final class StubTokenSigner: TokenSigner {
    private struct State {
        var failure: PortError?
        var isOutageKnown = true
        let algorithm: KeyAlgorithm
        var count = 0
    }

    private let state: Mutex<State>

    /// - Parameter algorithm: The only one with a key.
    package init(_ algorithm: KeyAlgorithm = .es256) {
        state = Mutex(State(algorithm: algorithm))
    }

    /// The error that every further call throws; `nil`: calls work again.
    /// - Parameter isKnown: Whether also ``algorithm(_:)`` throws, so that the broker knows before it signs.
    package func fail(with failure: PortError?, isKnown: Bool = true) {
        state.withLock { ($0.failure, $0.isOutageKnown) = (failure, isKnown) }
    }

    /// How many tokens it has signed.
    package var count: Int { state.withLock { $0.count } }

    package func beginSigning(
        _ payload: [UInt8], type: JWTType, algorithm: KeyAlgorithm
    ) -> Pending<String, PortError> {
        let failure = state.withLock { state in
            if state.failure == nil { state.count += 1 }
            return state.failure
        }
        if let failure { return .done(.failure(failure)) }
        let header = Array(#"{"alg":"stub","typ":"\#(type.rawValue)"}"#.utf8)
        return .done(
            .success([header, payload, Array("stub".utf8)].map { Base64URL.encode($0) }.joined(separator: ".")))
    }

    package func algorithm(_ wanted: KeyAlgorithm?) throws(PortError) -> KeyAlgorithm {
        let (algorithm, failure) = state.withLock { ($0.algorithm, $0.isOutageKnown ? $0.failure : nil) }
        if let failure { throw failure }
        guard wanted ?? algorithm == algorithm else { throw .outage(Outage(.keyModule, "no such key")) }
        return algorithm
    }
}

/// A token read back without any check of its signature: for tests that look at what was issued.
package struct UnverifiedJWS: Sendable {
    package let type: String
    package let payload: [UInt8]
    package let claims: JSONObject

    /// `nil` unless `text` is a compact JWS whose header names a `typ` and whose payload is a JSON object.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let type = try? JSONReader.parse(header).object?.string("typ"),
            let claims = try? JSONReader.parse(payload).object
        else { return nil }
        self.type = type
        self.payload = payload
        self.claims = claims
    }
}
