import BrokerTesting
import JOSE
import OAuthWire

/// Exchanges of logins by an app that shows a key, login after login and round again, each with a proof of its own. RFC 9449.
struct ProvenExchanges: Workload {
    private let logins: SignedLogins
    private let heads: [[UInt8]]
    private let first: Int
    private var sent = 0

    /// How far it got.
    var position: Int { first + sent }

    /// - Parameter heads: What goes before each request, from login `first` on; as many requests as there are heads.
    init(_ logins: SignedLogins, heads: [[UInt8]], from first: Int) {
        self.logins = logins
        self.heads = heads
        self.first = first
    }

    mutating func next(on connection: Int, into request: UnsafeMutableRawBufferPointer) -> Int? {
        guard sent < heads.count else { return nil }
        defer { sent += 1 }
        return request.fill(heads[sent], logins[(first + sent) % logins.count])
    }

    mutating func answered(_ body: UnsafeRawBufferPointer, on connection: Int) {}

    var tokenType: TokenType { .proofOfPossession }
}

/// A key for each login, as each is on a device of its own, and the proofs by them.
struct ProofKeys: Sendable {
    private let keys: [TestKey]

    init(count: Int) throws { keys = try (0..<count).map { _ in try TestKey(.es256, keyID: nil) } }

    /// What goes before so many exchanges, with proofs that are good for a minute from `now` on.
    func heads(_ count: Int, from first: Int, of logins: SignedLogins, app: String, at now: Int64) async throws
        -> [[UInt8]]
    {
        let client = FormEncoder.encode([Parameter.clientID: app]) + [UInt8(ascii: "&")]
        return try await inPortions(of: count) { numbers in
            try numbers.map { index in
                let key = keys[(first + index) % keys.count]
                let proof = try TestProof(by: key, for: SampleApps.tokenEndpoint, at: now).signed()
                return TokenRequest.head(
                    bodyLength: client.count + logins.formLength, fields: "DPoP: \(proof)\r\n") + client
            }
        }
    }
}
