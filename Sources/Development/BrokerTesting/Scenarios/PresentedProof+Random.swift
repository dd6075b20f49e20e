public import NativeSSO
import StrictCoding

extension KeyThumbprint {
    /// Of a key that nobody has.
    public static func random() -> KeyThumbprint {
        KeyThumbprint(validated: Base64URL.encode(UniqueID.random().octets + UniqueID.random().octets))
    }
}

extension PresentedProof {
    /// A new proof by this key.
    public static func random(by key: KeyThumbprint = .random()) -> PresentedProof {
        PresentedProof(key: key, id: ProofID(key: key, jti: UniqueID.random().description), life: 90)
    }
}
