import HTTPTypes
import Hummingbird
import OAuthWire

/// The parameters of a request, each at most once (RFC 6749 §3.1 and §3.2).
extension Request {
    /// Those in the query of the address.
    func queryParameters() throws(FormError) -> FormParameters {
        try FormDecoder.decode((uri.query ?? "").utf8, rules: .browser)
    }

    /// The parameters of a posted form of at most 64 KiB; nil if the body is not a form.
    func formParameters() async throws(FormError) -> FormParameters? {
        guard let type = headers[.contentType],
            type.prefix(while: { $0 != ";" }).lowercased() == "application/x-www-form-urlencoded",
            let body = try? await body.collect(upTo: 64 << 10)
        else { return nil }
        return try FormDecoder.decode(body.readableBytesView, rules: .browser)
    }

    /// Those of the query or of the form, as the method has it. Browsers may be sent both ways.
    func parameters() async throws(FormError) -> FormParameters? {
        method == .post ? try await formParameters() : try queryParameters()
    }
}

extension FormRules {
    /// What comes through a browser or to the token endpoint: nothing is long but an id_token that serves as a hint.
    fileprivate static let browser = FormRules(
        maximumValueLength: 2048, valueLengths: ["id_token_hint": 16 << 10, "device_secret": 4096])
}
