import Crypto

/// Which client assertions were used, for a grant whose registry takes none: implemented by `Registry` on PostgreSQL, for all replicas
/// together. Exchange, refresh and enrolment use theirs up in their own statement.
public protocol AssertionRegister: Sendable {
    /// Whether this is the first use of the assertion. Of any number of calls, at once or one after the other, one gets
    /// `true`, until the assertion has expired. After an outage it may count as used or not.
    ///
    /// It is a statement and a commit of its own, so that an outage after it has cost the assertion.
    /// - Parameter until: When the assertion is refused for its age.
    func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool
}

/// Names a client assertion by its client and `jti`. RFC 7523 §3, 7.
public struct AssertionID: Hashable, Sendable {
    /// SHA-256: 32 octets, whatever the client wrote.
    public let digest: [UInt8]

    public init(client: ClientID, jti: String) {
        // No client identifier holds a NUL, so no other client's jti begins where this one ends.
        digest = Array(SHA256.hash(data: Array(client.string.utf8) + [0] + Array(jti.utf8)))
    }
}
