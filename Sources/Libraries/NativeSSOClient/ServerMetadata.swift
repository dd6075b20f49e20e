public import StrictCoding

/// The discovery document of an IdP or broker: OpenID Connect Discovery §3, RFC 8414 §2.
public struct ServerMetadata: Sendable {
    /// `issuer`: exactly the one that was asked for.
    public let issuer: String
    /// `authorization_endpoint`; nil if absent, as at most brokers.
    public let authorizationEndpoint: String?
    /// `token_endpoint`.
    public let tokenEndpoint: String
    /// `jwks_uri`.
    public let keySet: String
    /// `userinfo_endpoint`; nil if absent.
    public let userInfoEndpoint: String?
    /// `revocation_endpoint`; nil if absent.
    public let revocationEndpoint: String?
    /// `end_session_endpoint`; nil if absent.
    public let endSessionEndpoint: String?
    /// The whole document.
    public let all: JSONObject

    /// Loads the document of an issuer.
    ///
    /// - Throws: ``ClientError``: `untrustedMetadata` if the document is not the issuer's, or has an address without TLS.
    public static func load(_ issuer: String, _ transport: any HTTPTransport) async throws(ClientError)
        -> ServerMetadata
    {
        let base = issuer.utf8.last == UInt8(ascii: "/") ? String(issuer.dropLast()) : issuer
        let address = base + "/.well-known/openid-configuration"
        let document = try await transport.document(at: address, accepting: "application/json")
        guard let json = (try? JSONReader.parse(document))?.object else {
            throw .untrustedMetadata(.malformed(address))
        }
        return try ServerMetadata(json, of: issuer)
    }

    init(_ json: JSONObject, of issuer: String) throws(ClientError) {
        // Another issuer's document would let that issuer log users in here. OpenID Connect Discovery §4.3.
        guard json.string("issuer")?.hasSameOctets(as: issuer) == true else { throw .untrustedMetadata(.otherIssuer) }
        self.issuer = issuer
        func address(_ name: String) throws(ClientError) -> String? {
            guard let value = json[name] else { return nil }
            guard let address = value.string, SecureAddress.isSecure(address) else {
                throw .untrustedMetadata(.insecureAddress(name))
            }
            return address
        }
        func required(_ name: String) throws(ClientError) -> String {
            guard let address = try address(name) else { throw .untrustedMetadata(.missing(name)) }
            return address
        }
        tokenEndpoint = try required("token_endpoint")
        keySet = try required("jwks_uri")
        authorizationEndpoint = try address("authorization_endpoint")
        userInfoEndpoint = try address("userinfo_endpoint")
        revocationEndpoint = try address("revocation_endpoint")
        endSessionEndpoint = try address("end_session_endpoint")
        all = json
    }
}

extension HTTPTransport {
    /// A public document: 200 and nothing else.
    func document(at address: String, accepting type: String) async throws(ClientError) -> [UInt8] {
        guard SecureAddress.isSecure(address) else { throw .untrustedMetadata(.insecureAddress(address)) }
        let response = try await answer(TransportRequest(address, fields: [("Accept", type)]))
        guard response.status == 200 else { throw response.failure }
        return response.body
    }

    func answer(_ request: TransportRequest) async throws(ClientError) -> TransportResponse {
        do {
            return try await send(request)
        } catch {
            throw .noAnswer(error)
        }
    }
}
