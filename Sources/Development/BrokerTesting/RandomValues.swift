package import NativeSSO
import StrictCoding

extension UniqueID {
    /// For names that only have to be new.
    package static func random() -> UniqueID {
        var randomness = SystemRandomNumberGenerator()
        return UniqueID(high: randomness.next(), low: randomness.next())
    }
}

extension KeyThumbprint {
    /// The thumbprint of a key that does not exist.
    package static func random() -> KeyThumbprint {
        KeyThumbprint(validated: Base64URL.encode(UniqueID.random().octets + UniqueID.random().octets))
    }
}

extension PresentedProof {
    /// A new proof by this key.
    package static func random(by key: KeyThumbprint = .random()) -> PresentedProof {
        PresentedProof(key: key, id: ProofID(key: key, jti: UniqueID.random().description), life: 90)
    }
}

extension PresentedAssertion {
    /// A new assertion, valid until 2096.
    package static func random() -> PresentedAssertion {
        PresentedAssertion(
            id: AssertionID(client: ClientID(validated: "signer"), jti: UniqueID.random().description),
            until: UnixTime(seconds: 4_000_000_000))
    }
}
