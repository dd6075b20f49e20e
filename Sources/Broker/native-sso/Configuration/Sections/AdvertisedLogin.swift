import NativeSSO

/// Which identity provider's `authorization_endpoint` stands in the broker's metadata: `advertise_login`.
enum AdvertisedLogin: Sendable, Hashable {
    case automatic
    case never
    /// That of this one.
    case provider(Issuer)

    /// An identity provider whose codes the broker redeems.
    struct Relay: Sendable {
        let issuer: Issuer
        /// `nil`: not known, or not yet.
        let endpoint: String?
        /// Whether its answers have `iss` (RFC 9207). A client compares it with the broker's, and would refuse them.
        let sendsIssuer: Bool
    }

    /// - Parameter relays: All enabled ones.
    func endpoint(_ relays: [Relay]) -> String? {
        switch self {
        case .automatic: relays.count == 1 && !relays[0].sendsIssuer ? relays[0].endpoint : nil
        case .never: nil
        case .provider(let issuer): relays.first { $0.issuer == issuer }?.endpoint
        }
    }

    private static let key = "advertise_login"

    init(reading root: Section) {
        self =
            root.value(
                Self.key, .text("`auto`, `none`, or the `issuer` of an identity provider with `code_relay`"),
                default: "auto",
                help: """
                    Whose `authorization_endpoint` stands in the metadata. `auto`: that of the only identity provider with \
                    `code_relay`, if its answers have no `iss` (RFC 9207).
                    """
            ) { text in
                switch text {
                case "auto": .automatic
                case "none": .never
                default: .provider(try IssuerURL.parse(text, isDevelopment: root.isDevelopment))
                }
            } ?? .automatic
    }

    /// Reports an issuer without relay.
    func check(_ providers: [Configuration.IdentityProvider], _ root: Section) {
        guard case .provider(let issuer) = self,
            !providers.contains(where: { $0.issuer == issuer && $0.codeRelay != nil && !$0.isDisabled })
        else { return }
        root.report(Self.key, "is the issuer of no enabled identity provider with code_relay; write one, auto or none")
    }
}
