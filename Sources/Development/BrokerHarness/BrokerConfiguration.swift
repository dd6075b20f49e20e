/// What the configuration file of a broker under test says.
public struct BrokerConfiguration: Sendable {
    public struct Provider: Sendable {
        public var issuer: String
        /// Of the set of keys itself, or of the discovery document.
        public var keys: Keys
        public var profiles: [String]
        public var algorithms: [String]
        public var admitsOnFirstSight: Bool
        public var isDisabled: Bool
        public var enrolsByExchange = false
        /// How it computes `ds_hash`.
        public var hashMode = "left_half"
        /// Other values of `audience` that mean it.
        public var audienceAliases: [String] = []
        /// What is allowed of its logout tokens, by the names of the configuration.
        public var logout: [String] = []
        /// `code_relay` as a flow mapping, such as `{ timeout: 2s }`; `nil`: none.
        public var codeRelay: String?

        public enum Keys: Sendable {
            case discovery
            case jwks(String)
        }

        public init(
            _ issuer: String, keys: Keys = .discovery, profiles: [String] = ["device-id", "device-secret"],
            algorithms: [String] = ["ES256", "RS256"], admitsOnFirstSight: Bool = true, isDisabled: Bool = false
        ) {
            self.issuer = issuer
            self.keys = keys
            self.profiles = profiles
            self.algorithms = algorithms
            self.admitsOnFirstSight = admitsOnFirstSight
            self.isDisabled = isDisabled
        }

        fileprivate var yaml: String {
            let source =
                switch keys {
                case .discovery: "discovery: \(issuer)/.well-known/openid-configuration"
                case .jwks(let address): "jwks_uri: \(address)"
                }
            return """
                  - issuer: \(issuer)
                    \(source)
                    profiles: [\(profiles.joined(separator: ", "))]
                    algorithms: [\(algorithms.joined(separator: ", "))]
                    audience_aliases: [\(audienceAliases.map { "\"\($0)\"" }.joined(separator: ", "))]
                    hash_mode: \(hashMode)
                    admit_on_first_sight: \(admitsOnFirstSight)
                    disabled: \(isDisabled)
                    enrolment: \(enrolsByExchange ? "exchange" : "off")
                    logout: { \(logout.map { "\($0): true" }.joined(separator: ", ")) }
                \(codeRelay.map { "    code_relay: \($0)" } ?? "")
                """
        }
    }

    public var issuer: String
    public var providers: [Provider]
    /// For how long a public client may ask again for a lost answer, in seconds.
    public var unboundRefreshGrace = 10
    /// Those of one login are out of the way: tests ask more of it in a second than an app in a day.
    public var limits = ["session": "1000000/1s", "user": "1000000/1s", "device": "1000000/1s"]
    /// Who may say where a request comes from.
    public var trustedProxies: [String] = []

    /// Connections to its database beside those for exchanges and refreshes; `nil`: as many as there are by default.
    public var pool: Int?

    /// Files in PEM. Without them it speaks in the clear.
    public var tls: (certificate: String, key: String)?

    public init(issuer: String, providers: [Provider]) {
        self.issuer = issuer
        self.providers = providers
    }

    func yaml(database: String, passwordFile: String, keys: String) -> String {
        """
        issuer: \(issuer)
        development: true
        database:
          url: "\(database)"
          password_file: \(passwordFile)
        \(pool.map { "  pool: \($0)" } ?? "")
        keys: { directory: \(keys) }
        identity_providers:
        \(providers.map(\.yaml).joined(separator: "\n"))
        public:
          trusted_proxies: [\(trustedProxies.joined(separator: ", "))]
        \(tls.map { "  tls: { certificate: \($0.certificate), key: \($0.key) }" } ?? "")
        limits: { \(limits.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }
        tokens: { unbound_refresh_grace: \(unboundRefreshGrace)s }
        log: { level: info, format: json }

        """
    }
}
