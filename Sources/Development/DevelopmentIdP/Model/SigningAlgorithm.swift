/// What id_tokens are signed with, RFC 7518 §3.1.
public enum SigningAlgorithm: String, Sendable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
}
