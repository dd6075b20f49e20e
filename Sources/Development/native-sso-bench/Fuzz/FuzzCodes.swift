import BrokerHarness
import BrokerTesting
import Crypto
import Glibc
import OAuthWire
import StrictCoding

/// Authorization codes of the identity provider, made with a secret so that they cannot be forged.
struct FuzzCodes: Sendable {
    private let secret = SymmetricKey(size: .bits128)

    static let redirectURI = "com.example.app:/callback"
    /// Of every code. RFC 7636 §4.1.
    static let verifier = String(repeating: "v", count: 43)

    /// The code that was given for a login.
    func code(for sid: String) -> String {
        let check = HMAC<SHA256>.authenticationCode(for: Array(sid.utf8), using: secret)
        return "\(sid).\(Hexadecimal.encode(Array(check)[..<8]))"
    }

    /// Whose login a code was given for.
    func sid(of code: String) -> String? {
        let sid = String(code.prefix { $0 != "." })
        return self.code(for: sid) == code ? sid : nil
    }

    /// The identity provider's own, which the broker passes on as it is.
    static let accessToken = "fuzz"

    /// What the identity provider's token endpoint says: it knows the codes that it has given. RFC 6749 §4.1.3.
    /// - Parameter key: The identity provider's.
    func reply(to call: CodeCall, by key: TestKey) -> CodeReply {
        let parameters = try? FormDecoder.decode(call.body.utf8)
        guard let parameters, parameters[Parameter.codeVerifier] == Self.verifier,
            parameters[Parameter.redirectURI] == Self.redirectURI,
            let sid = parameters[Parameter.code].flatMap(sid(of:)), let client = parameters[Parameter.clientID]
        else {
            return .answers(400, #"{"error":"invalid_grant"}"#)
        }
        var claims = Login(sid: sid, subject: Login.subject(of: sid), device: "").claims(at: Int64(time(nil)))
        claims["di_hash"] = nil
        claims["aud"] = .string(client)
        guard let token = try? key.sign(claims: claims) else { return .closes }
        return .answers(
            200,
            """
            {"access_token":"\(Self.accessToken)","token_type":"Bearer","expires_in":300,"scope":"openid device_sso",\
            "id_token":"\(token)"}
            """)
    }
}
