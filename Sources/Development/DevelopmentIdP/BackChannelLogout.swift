package import Logging
import OAuthWire
import StrictCoding

/// Tells every client of a session that it is over, OpenID Connect Back-Channel Logout 1.0 §2.5: those that got tokens in it and
/// have an address for it. Before the user sees the page that says so.
package struct BackChannelLogout: SessionEndListener {
    /// Sends a form to an address; the status of the answer.
    package typealias Delivery = @Sendable (_ address: String, _ form: [UInt8]) async throws -> Int

    private let configuration: ProviderConfiguration
    private let signingKeys: SigningKeys
    private let now: @Sendable () -> Int64
    private let logger: Logger
    private let deliver: Delivery

    /// - Parameter now: Seconds since 1970.
    package init(
        _ configuration: ProviderConfiguration, signingKeys: SigningKeys, logger: Logger,
        now: @escaping @Sendable () -> Int64, deliver: @escaping Delivery
    ) {
        self.configuration = configuration
        self.signingKeys = signingKeys
        self.logger = logger
        self.now = now
        self.deliver = deliver
    }

    /// A client that does not answer, or says no, is named in the log; the others hear of it all the same.
    package func sessionEnded(_ session: EndedSession) async {
        for id in session.clients {
            guard let address = configuration.client(id)?.backChannelLogoutURI else { continue }
            do {
                let token = LogoutToken(
                    issuer: configuration.issuer, clientID: id, session: session, issuedAt: now(),
                    sid: configuration.mode == .stamping ? session.sid : nil)
                let form = FormEncoder.encode([(name: "logout_token", value: try token.signed(by: signingKeys.current))]
                )
                let status = try await deliver(address, form)
                guard status == 200 || status == 204 else {
                    logger.warning("a client refused a logout", metadata: ["client": "\(id)", "status": "\(status)"])
                    continue
                }
                logger.info("a client was told of a logout", metadata: ["client": "\(id)"])
            } catch {
                logger.warning(
                    "a client could not be told of a logout", metadata: ["client": "\(id)", "error": "\(error)"])
            }
        }
    }
}

/// The claims of one logout token, OpenID Connect Back-Channel Logout 1.0 §2.4.
struct LogoutToken {
    let issuer: String
    let clientID: String
    let session: EndedSession
    let issuedAt: Int64
    /// nil where id_tokens have none either.
    let sid: String?

    /// Seconds. §4.
    static let lifetime: Int64 = 120

    func signed(by key: SigningKey) throws -> String {
        var events = JSONObject()
        events["http://schemas.openid.net/event/backchannel-logout"] = .object(JSONObject())
        var json = JSONWriter()
        json.object { json in
            json.member("iss", issuer)
            json.member("sub", session.subject)
            json.member("aud", clientID)
            json.member("iat", issuedAt)
            json.member("exp", issuedAt + Self.lifetime)
            json.member("jti", RandomToken.make())
            if let sid { json.member("sid", sid) }
            json.member("events", .object(events))
        }
        return try key.sign(payload: json.bytes, type: "logout+jwt")
    }
}
