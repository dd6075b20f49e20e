/// `client_assertion_type`.
public enum ClientAssertionType: String, Sendable, CaseIterable {
    /// RFC 7523 §2.2.
    case jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
}
