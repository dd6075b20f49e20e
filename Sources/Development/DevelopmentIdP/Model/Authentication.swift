/// How and when a user logged in.
struct Authentication: Sendable {
    /// `acr`. The names are examples: every provider has its own.
    enum ContextClass: String, CaseIterable {
        case password = "urn:example:acr:password"
        case secondFactor = "urn:example:acr:totp"

        /// `amr`, RFC 8176 §2.
        var methods: [String] {
            switch self {
            case .password: ["pwd"]
            case .secondFactor: ["pwd", "otp", "mfa"]
            }
        }
    }

    /// `auth_time`.
    let at: Int64
    let contextClass: ContextClass
}
