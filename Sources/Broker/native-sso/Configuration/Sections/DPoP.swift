import JOSE
import NativeSSO

extension Configuration {
    /// `dpop`: what the proofs of clients must hold that show possession of a key. Which clients do is registered with each.
    struct DPoP: Sendable, Hashable {
        enum Nonce: String, Sendable, CaseIterable {
            /// A proof tells its time by a nonce of ours, so that none can be made in advance.
            case required
            case off
        }

        /// `POST /token` as apps address it.
        let tokenEndpoint: String
        let target: TargetURI
        let nonce: Nonce
        let nonceLifetime: Seconds

        /// - Parameter issuer: Ours; `nil` where that was reported.
        init?(reading section: Section, issuer: Issuer?) {
            let standard = issuer.map { $0.withoutTrailingSlash + "/token" } ?? "https://sso.example.com/token"
            let endpoint = section.value("token_endpoint", defaultText: standard) { text in
                let url = try WebURL(text, allowsLoopbackHTTP: section.isDevelopment)
                guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
                guard let target = TargetURI(text) else { throw ValueDefect("is not the URL of an endpoint") }
                return (text, target)
            }
            nonce = section.choice("nonce", default: .off)
            nonceLifetime = section.duration("nonce_lifetime", default: .minutes(5), in: 30 ... .hours(1))
            if section.isSound, section.isGiven("nonce_lifetime"), nonce == .off {
                section.warn("nonce_lifetime", "has no effect: dpop.nonce is off")
            }
            guard let endpoint else { return nil }
            (tokenEndpoint, target) = endpoint
        }
    }
}
