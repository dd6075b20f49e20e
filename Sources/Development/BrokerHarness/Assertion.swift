package import BrokerTesting
import Glibc
package import StrictCoding

/// A client assertion in the making, RFC 7523 §3: every part of it can be bent before it is signed.
package struct Assertion: Sendable {
    package var header: JSONObject
    package var claims: JSONObject
    package var key: TestKey
    /// Rewrites the finished token.
    package var rewritesToken: @Sendable (String) -> String = { $0 }

    /// A good one, for one request.
    /// - Parameter audience: The broker's issuer.
    package init(client: String, audience: String, key: TestKey) {
        self.key = key
        header = key.header(type: "client-authentication+jwt")
        let now = Int64(time(nil))
        claims = JSONObject([
            "iss": .string(client), "sub": .string(client), "aud": .string(audience),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 60)), "jti": .string(Unguessable.make()),
        ])
    }

    package func signed() throws -> String { rewritesToken(try key.sign(header: header, payload: claims)) }
}

extension TokenForm {
    package static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// The same request by a client that proves itself with an assertion, and names itself in it alone.
    package func asserted(_ assertion: String) -> TokenForm {
        var form = self
        form["client_id"] = nil
        form["client_assertion_type"] = Self.assertionType
        form["client_assertion"] = assertion
        return form
    }

    /// The same request by a client that proves itself with a secret: its octets.
    package func withSecret(_ secret: String, of client: String) -> HTTPRequest {
        var form = self
        form["client_id"] = nil
        return HTTPRequest.token(form.parameters, fields: [HTTPRequest.basic(client, secret)])
    }
}
