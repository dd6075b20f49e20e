package import NativeSSO
import StrictCoding

/// What the signer signs and tags for brokers: the tokens of one issuer, for a bounded time, and messages with the label of
/// the key's use. A broker that was taken over gets no signature on anything else.
package struct SigningPolicy: Sendable {
    private let issuer: String
    private let longest: Seconds

    /// - Parameter longest: From now to the latest `exp`.
    package init(issuer: Issuer, longest: Seconds) {
        self.issuer = issuer.string
        self.longest = longest
    }

    /// Why `message` is not signed; `nil`: it is.
    /// - Parameters:
    ///   - message: A JWS signing input, RFC 7515 §5.1.
    ///   - headers: Those that the key may have, with the dot.
    func refusal(ofSigning message: [UInt8], headers: [[UInt8]], at now: UnixTime) -> String? {
        guard let header = headers.first(where: { message.starts(with: $0) }) else {
            return "the header is not that of an access token or id_token of this key"
        }
        guard let payload = Base64URL.decode(message[header.count...]),
            let claims = try? JSONReader.parse(payload, limits: JSONLimits(members: 512, elements: 4096)).object
        else { return "the payload is no JSON object in base64url" }
        guard claims.string("iss").map(issuer.hasSameOctets) == true else { return "iss is not \(issuer)" }
        guard let expiry = claims.number("exp")?.int64 else { return "there is no exp" }
        guard UnixTime(seconds: expiry).since(now) <= longest else {
            return
                "exp is more than \(longest.count) s ahead (signer.longest_token), or the clock of this machine is behind"
        }
        return nil
    }

    /// Why `message` gets no tag; `nil`: it gets one.
    func refusal(ofTagging message: [UInt8], for use: KeyUse) -> String? {
        let labels: [String]
        switch use {
        case .accessToken: return "a signing key makes no tags"
        case .refreshToken: labels = ["nsr1.", "native-sso dpop nonce\0"]
        case .device: labels = ["native-sso device id\0", "native-sso device secret\0", "native-sso record\0"]
        }
        guard !labels.contains(where: { message.starts(with: $0.utf8) }) else { return nil }
        return "the message has no label of the use \(use.rawValue)"
    }
}
