import HTTPServer
import NIOCore
import NIOHTTP1
import NativeSSO
import OAuthWire
import StrictCoding

/// The client as the request presents it, through exactly one mechanism. RFC 6749 §2.3.
struct PresentedClient: Sendable {
    /// As written. If only an assertion names the client, the assertion's claim, which is not verified yet.
    let id: String
    let credential: ClientCredential?
    let usedAuthorization: Bool
}

extension PresentedClient {
    var method: Client.Authentication {
        switch credential {
        case nil: .none
        case .secret: .clientSecretBasic
        case .assertion: .privateKeyJWT
        }
    }

    /// - Parameter authorization: Every `Authorization` field of the request.
    init(authorization: [String], _ form: FormParameters) throws(Refusal) {
        guard authorization.count <= 1 else { throw .request(.authorizationRepeated) }
        guard let header = authorization.first else {
            self = try Self.posted(form)
            return
        }
        switch AuthorizationHeader(header) {
        case .otherScheme: throw Self.refused(.unknownScheme)
        case .malformedBasic: throw Self.refused(.malformedBasic)
        case .basic(let basic):
            guard form[Parameter.clientSecret] == nil, !Self.hasAssertion(form)
            else { throw .request(.severalMechanisms) }
            // A `client_id` in the body is no second mechanism, as long as it names the same client.
            if let id = form[Parameter.clientID], !id.utf8.elementsEqual(basic.clientID.utf8) {
                throw .request(.clientIDMismatch)
            }
            self.init(
                id: basic.clientID, credential: basic.clientSecret.map(ClientCredential.secret),
                usedAuthorization: true)
        }
    }

    /// Half an assertion also counts as an attempt to authenticate.
    private static func hasAssertion(_ form: FormParameters) -> Bool {
        form[Parameter.clientAssertion] != nil || form[Parameter.clientAssertionType] != nil
    }

    private static func posted(_ form: FormParameters) throws(Refusal) -> PresentedClient {
        if form[Parameter.clientSecret] != nil {
            throw hasAssertion(form) ? .request(.severalMechanisms) : refused(.postedSecret, usedAuthorization: false)
        }
        if hasAssertion(form) { return try asserted(form) }
        guard let id = form[Parameter.clientID] else { throw refused(.missing, usedAuthorization: false) }
        return PresentedClient(id: id, credential: nil, usedAuthorization: false)
    }

    /// RFC 7521 §4.2: `client_id` is optional beside an assertion, and must name the same client. Verifying the
    /// assertion as that client's checks this.
    private static func asserted(_ form: FormParameters) throws(Refusal) -> PresentedClient {
        guard form[Parameter.clientAssertionType].flatMap(ClientAssertionType.init(octets:)) == .jwtBearer,
            let jwt = form[Parameter.clientAssertion]
        else { throw refused(.assertionIncomplete, usedAuthorization: false) }
        let reading = Result { () throws(ClientRefusal) in try ClientAssertion(jwt) }
        let id: String
        switch (form[Parameter.clientID], reading) {
        case (let clientID?, _): id = clientID
        case (nil, .success(let assertion)):
            guard let claimed = assertion.claimedClient
            else { throw refused(.assertionSubject, usedAuthorization: false) }
            id = claimed.string
        case (nil, .failure(let reason)): throw refused(reason, usedAuthorization: false)
        }
        return PresentedClient(id: id, credential: .assertion(reading), usedAuthorization: false)
    }

    private static func refused(_ reason: ClientRefusal, usedAuthorization: Bool = true) -> Refusal {
        .client(Refusal.ClientFailure(reason: reason, client: nil, usedAuthorization: usedAuthorization))
    }
}

extension ReceivedRequest {
    /// Steps 1 to 5 of the token endpoint: path, method, media type, no query, and the form itself.
    func tokenForm() throws(Refusal) -> FormParameters {
        guard isFor("/token") else { throw .request(.unknownPath) }
        return try form(.tokenEndpoint)
    }

    /// The form of a request that must be a form.
    func form(_ rules: FormRules) throws(Refusal) -> FormParameters {
        let body = try body(of: MediaType.form, else: .contentType)
        do throws(FormError) {
            return try FormDecoder.decode(body, rules: rules)
        } catch {
            throw .form(error)
        }
    }

    /// The body of a POST request without query and coding.
    func body(of type: String, else refusal: RequestRefusal) throws(Refusal) -> ByteBufferView {
        guard method == .POST else { throw .request(.method) }
        guard MediaType.isOne(headers["content-type"], type) else { throw .request(refusal) }
        guard !headers.contains(name: "content-encoding") else { throw .request(.contentEncoding) }
        guard !hasQuery else { throw .request(.query) }
        return body.readableBytesView
    }

    /// The token of the only `Authorization` field. RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1).
    var bearer: String? {
        let fields = headers["authorization"]
        guard fields.count == 1 else { return nil }
        let parts = fields[0].utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).lowercased().hasSameOctets(as: "bearer") else { return nil }
        return String(Substring(parts[1]))
    }
}

enum MediaType {
    static let form = "application/x-www-form-urlencoded"

    /// `type`, alone or with `charset=UTF-8`, once. RFC 9110 §8.3.1.
    static func isOne(_ fields: [String], _ type: String) -> Bool {
        guard fields.count == 1 else { return false }
        if fields[0].hasSameOctets(as: type) { return true }  // as every client writes it
        let parts = parts(of: fields[0])
        let parameters = parts.dropFirst()
        return parts[0] == type && parameters.count <= 1
            && parameters.allSatisfy { ["charset=utf-8", "charset=\"utf-8\""].contains($0) }
    }

    /// The type and its parameters, in lower case. There is always a type, which may be empty.
    private static func parts(of field: String) -> [Substring] {
        field.lowercased().utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { OuterWhitespace.removed(from: Substring($0)) }
    }
}
