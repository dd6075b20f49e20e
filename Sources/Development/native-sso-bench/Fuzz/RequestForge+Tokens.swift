import BrokerTesting
import OAuthWire
import StrictCoding

/// Tokens of the identity provider, and the broker's own.
extension RequestForge {
    /// An exchange of an id_token that says something else, and that the identity provider has signed all the same.
    func signedIDToken(_ number: Int, _ random: inout SeededRandom) throws -> FuzzedRequest {
        let (login, _) = material.logins[random.below(material.logins.count)]
        let token = try BentToken(material.key.header(), login.claims(at: material.now), by: material.key, &random)
        var form = FuzzForm(FuzzMaterial.exchange(login, "", client: app(&random)))
        form.set(Parameter.subjectToken, FuzzForm.escaped(token.octets))
        if random.oneIn(4) { form.set(Parameter.actorTokenType, FuzzForm.escaped(TokenTypeURI.deviceSecret.rawValue)) }
        let device = login.claims(at: 0).string("di_hash")
        return FuzzedRequest(
            number, FuzzMessage(form), at: .http1,
            .init(
                mustBeRefused: token.claims?.string("di_hash") != device, subjects: token.subject.map { [$0] } ?? []))
    }

    /// An exchange of an altered id_token, which fails its signature check.
    func unsignedIDToken(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        let (login, token) = material.logins[random.below(material.logins.count)]
        var octets = Array(token.utf8)
        if random.oneIn(3) {
            // The parts of another token.
            let other = material.logins[random.below(material.logins.count)].token.split(separator: ".")
            var parts = token.split(separator: ".")
            parts[random.below(3)] = other[random.below(3)]
            octets = Array(parts.joined(separator: ".").utf8)
        } else {
            OctetMutation.apply(to: &octets, &random)
        }
        var form = FuzzForm(FuzzMaterial.exchange(login, "", client: app(&random)))
        form.set(Parameter.subjectToken, FuzzForm.escaped(octets))
        let isBent = octets != Array(token.utf8)
        return FuzzedRequest(
            number, FuzzMessage(form), at: .http1, .init(mustBeRefused: isBent, subjects: [login.subject]))
    }

    func bentRefresh(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        let index = random.below(material.refreshTokens.count)
        let token = Array(material.refreshTokens[index].utf8)
        var octets = token
        if !random.oneIn(8) { OctetMutation.apply(to: &octets, &random) }
        var form = FuzzForm(FuzzMaterial.refresh(""))
        form.set(Parameter.refreshToken, FuzzForm.escaped(octets))
        return FuzzedRequest(
            number, FuzzMessage(form), at: .http1,
            .init(mustBeRefused: octets != token, subjects: [material.logins[index].login.subject]))
    }
}
