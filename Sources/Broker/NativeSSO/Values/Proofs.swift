import Crypto

/// A valid DPoP proof of a request. RFC 9449.
package struct PresentedProof: Sendable, Hashable {
    /// `jkt`, to which the tokens of the answer are bound.
    package let key: KeyThumbprint
    package let id: ProofID
    /// The longest time for which a replay of the proof would pass all other checks.
    package let life: Seconds

    package init(key: KeyThumbprint, id: ProofID, life: Seconds) {
        self.key = key
        self.id = id
        self.life = life
    }
}

/// Identifies a proof by its key and `jti`. A proof works for one request. RFC 9449 §11.1.
///
/// A broker has one token endpoint, so the identifier does not contain its URL.
package struct ProofID: Hashable, Sendable {
    /// SHA-256: always 32 octets.
    package let digest: [UInt8]

    package init(key: KeyThumbprint, jti: String) {
        // A thumbprint always has the same length, so no other key's jti begins where this one ends.
        digest = Array(SHA256.hash(data: Array(key.string.utf8) + Array(jti.utf8)))
    }
}

/// A client assertion that passed every check except reuse. RFC 7523 §3.
package struct PresentedAssertion: Sendable, Hashable {
    package let id: AssertionID
    /// From then on it is refused for its age, and the registry may forget it.
    package let until: UnixTime

    package init(id: AssertionID, until: UnixTime) {
        self.id = id
        self.until = until
    }
}

/// Consumes client assertions, each once for all replicas, for grants whose registry does not. `Registry` implements it
/// on PostgreSQL. The statements of exchange, refresh and enrolment consume theirs.
package protocol AssertionRegister: Sendable {
    /// Whether this is the first use of the assertion. Of any number of calls, at once or one after the other, one gets
    /// `true`, until the assertion has expired. After an outage it may count as used or not.
    ///
    /// It is a statement and a commit of its own, so that an outage after it has cost the assertion.
    /// - Parameter until: When the assertion is refused for its age.
    func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool
}

/// Identifies a client assertion by its client and `jti`. RFC 7523 §3, 7.
package struct AssertionID: Hashable, Sendable {
    /// SHA-256: always 32 octets.
    package let digest: [UInt8]

    package init(client: ClientID, jti: String) {
        // No client identifier holds a NUL, so no other client's jti begins where this one ends.
        digest = Array(SHA256.hash(data: Array(client.string.utf8) + [0] + Array(jti.utf8)))
    }
}
