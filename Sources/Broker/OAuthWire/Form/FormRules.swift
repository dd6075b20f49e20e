/// What a form may hold. A form beyond its rules is refused whole: nothing is cut or dropped, so that an oversized
/// credential can never turn into an absent one.
public struct FormRules: Sendable {
    /// The most parameters, those without a value included.
    public let maximumParameters: Int
    /// Octets of a decoded name.
    public let maximumNameLength: Int
    /// Octets of a decoded value for names without a rule of their own.
    public let maximumValueLength: Int
    private let valueLengths: [(name: String, length: Int)]
    private let repeatable: [String]
    private let judgedByOctets: [String]

    /// - Parameters:
    ///   - valueLengths: Octets of a decoded value, by name.
    ///   - repeatable: Names that may appear more than once.
    ///   - judgedByOctets: Names whose value is compared octet by octet and never shown: a control character in it makes
    ///     it another value (an unknown grant, a token that is not ours), not a malformed form.
    public init(
        maximumParameters: Int = 32, maximumNameLength: Int = 128, maximumValueLength: Int = 1024,
        valueLengths: KeyValuePairs<String, Int> = [:], repeatable: [String] = [],
        judgedByOctets: [String] = []
    ) {
        self.maximumParameters = maximumParameters
        self.maximumNameLength = maximumNameLength
        self.maximumValueLength = maximumValueLength
        self.valueLengths = valueLengths.map { (name: $0.key, length: $0.value) }
        self.repeatable = repeatable
        self.judgedByOctets = judgedByOctets
    }

    // A handful of names: a walk is faster than hashing, and nothing the caller sends is ever hashed.
    func maximumLength(ofValueNamed name: String) -> Int {
        valueLengths.first { $0.name == name }?.length ?? maximumValueLength
    }

    func allowsRepetition(of name: String) -> Bool { repeatable.contains(name) }

    func allowsControlCharacters(inValueNamed name: String) -> Bool { judgedByOctets.contains(name) }
}

extension FormRules {
    /// The token endpoint. `audience` and `resource` may repeat in the form (RFC 8693 §2.1); what that means is judged
    /// later, as a question of the target.
    public static let tokenEndpoint = FormRules(
        valueLengths: [
            Parameter.subjectToken: 16 * 1024,
            Parameter.actorToken: 4096,
            Parameter.clientAssertion: 8 * 1024,
            Parameter.scope: ScopeTokens.maximumLength,
            Parameter.code: 4096,
            Parameter.redirectURI: 2048,
            Parameter.codeVerifier: 128,  // RFC 7636 §4.1
            Parameter.refreshToken: 512,
            Parameter.clientID: 255,
        ],
        repeatable: [Parameter.audience, Parameter.resource],
        judgedByOctets: [Parameter.grantType, Parameter.refreshToken])

    /// Where an identity provider says that a login is over. Its token is as long as an id_token may be: a signature of
    /// RSA-4096 alone is 683 octets of it.
    public static let backChannelLogout = FormRules(valueLengths: [Parameter.logoutToken: 16 * 1024])
}
