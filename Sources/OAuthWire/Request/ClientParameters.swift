/// What the form says about the client. RFC 6749 §2.3.1, RFC 7521 §4.2.
public struct ClientParameters: Sendable {
    public let clientID: String?
    public let clientSecret: Credential?
    /// `nil` unless `client_assertion` or its type is there.
    public let assertion: Assertion?

    /// A client assertion, complete or not.
    public struct Assertion: Sendable {
        /// `nil` for a missing or unknown `client_assertion_type`.
        public let type: ClientAssertionType?
        public let jwt: Credential?
    }

    public init(_ form: FormParameters) {
        clientID = form[Parameter.clientID]
        clientSecret = form[Parameter.clientSecret].map(Credential.init)
        let type = form[Parameter.clientAssertionType]
        let jwt = form[Parameter.clientAssertion]
        assertion =
            type == nil && jwt == nil
            ? nil : Assertion(type: type.flatMap(ClientAssertionType.init(octets:)), jwt: jwt.map(Credential.init))
    }
}
