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
    }
}

extension Configuration.DPoP {
    /// - Parameter issuer: Ours; `nil` where that was reported.
    init?(reading section: Section, issuer: Issuer?, isDevelopment: Bool) {
        let given = section.value("token_endpoint") { text throws(ValueDefect) in
            let url = try WebURL(text, allowsLoopbackHTTP: isDevelopment)
            guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
            guard let target = TargetURI(text) else { throw ValueDefect("is not the URL of an endpoint") }
            return (text, target)
        }
        let nonce = section.choice("nonce", default: Nonce.off)
        let lifetime = section.duration("nonce_lifetime", default: .minutes(5), in: 30 ... .hours(1))
        guard let issuer, let nonce, let lifetime else { return nil }
        if section.isGiven("nonce_lifetime"), nonce == .off {
            section.warn("nonce_lifetime", "has no effect: dpop.nonce is off")
        }
        if let (text, target) = given {
            self.init(tokenEndpoint: text, target: target, nonce: nonce, nonceLifetime: lifetime)
            return
        }
        let standard = issuer.withoutTrailingSlash + "/token"
        guard !section.isGiven("token_endpoint"), let target = TargetURI(standard) else { return nil }
        self.init(tokenEndpoint: standard, target: target, nonce: nonce, nonceLifetime: lifetime)
    }
}
