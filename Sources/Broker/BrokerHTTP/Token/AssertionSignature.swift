public import JOSE

/// The signatures of client assertions.
public enum AssertionSignature {
    /// What an assertion may be signed with, as far as its key is for it. RFC 8725 §3.1.
    public static let algorithms: Set<SignatureAlgorithm> = [.es256, .ps256, .rs256]
}
