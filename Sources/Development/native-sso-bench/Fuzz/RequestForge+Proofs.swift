import BrokerTesting
import OAuthWire
import StrictCoding

/// Clients that prove who they are, and apps that prove that they have a key.
extension RequestForge {
    /// An exchange by a client with a secret, or with an assertion. RFC 6749 §2.3.1, RFC 7523 §2.2.
    func provenClient(_ number: Int, _ random: inout SeededRandom) throws -> FuzzedRequest {
        var (form, login) = exchange(&random)
        form.remove(Parameter.clientID)
        var expects = FuzzedRequest.Expectation(subjects: [login.subject])
        guard random.oneIn(2) else {
            let token = try assertion(number, &random)
            form.set(Parameter.clientAssertionType, FuzzForm.escaped(ClientAssertionType.jwtBearer.rawValue))
            form.set(Parameter.clientAssertion, FuzzForm.escaped(token.octets))
            let isBent = random.oneIn(4)
            if isBent { form.mutate(&random) }
            expects.mustSucceed = token.isGood && !isBent
            let isProved = token.authenticates(FuzzMaterial.signer, at: material.now)
            expects.provenClient = isProved ? FuzzMaterial.signer : nil
            return FuzzedRequest(number, FuzzMessage(form), at: .http1, expects)
        }
        let good = Array("\(FuzzMaterial.confidential):\(material.secret)".utf8)
        var credentials = good
        if random.oneIn(2) { OctetMutation.apply(to: &credentials, &random) }
        var value = Array("Basic \(Base64.encode(credentials))".utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &value, &random) }
        expects.mustSucceed = value == Array("Basic \(Base64.encode(good))".utf8)
        // In any case, and with any white space around it: RFC 9110 §11.1.
        let words = FuzzMessage.oneLine(value).split { $0 == 0x20 || $0 == 0x09 }
        let scheme = words.first.map { String(decoding: $0, as: UTF8.self).lowercased() }
        let isProved = words.count == 2 && scheme == "basic" && words[1] == Array(Base64.encode(good).utf8)[...]
        expects.provenClient = isProved ? FuzzMaterial.confidential : nil
        var message = FuzzMessage(form)
        message.add("Authorization", value)
        return FuzzedRequest(number, message, at: .http1, expects)
    }

    private func assertion(_ number: Int, _ random: inout SeededRandom) throws -> BentToken {
        let claims = JSONObject([
            "iss": .string(FuzzMaterial.signer), "sub": .string(FuzzMaterial.signer),
            "aud": .string(SampleApps.broker), "iat": .number(JSONNumber(material.now)),
            "exp": .number(JSONNumber(material.now + 240)), "jti": .string(material.login(number).sid),
        ])
        let header = material.clientKey.header(type: "client-authentication+jwt")
        return try BentToken(header, claims, by: material.clientKey, &random)
    }

    /// An exchange, or a refresh, with a proof of possession. RFC 9449 §4.2.
    func provenKey(_ number: Int, _ random: inout SeededRandom) throws -> FuzzedRequest {
        let isRefresh = random.oneIn(4)
        // A copy of a bound token without its key.
        let isCopy = isRefresh && random.oneIn(2)
        let showsKey = !isCopy || random.oneIn(2)
        var (form, login) = exchange(&random)
        // One of them has to prove a key, the other may.
        let client = random.oneIn(2) ? FuzzMaterial.bound : SampleApps.proving
        if isRefresh {
            let index = random.below(material.boundRefreshTokens.count)
            form = FuzzForm(FuzzMaterial.refresh(material.boundRefreshTokens[index], client: FuzzMaterial.bound))
            login = material.logins[index].login
        } else {
            form.set(Parameter.clientID, Array(client.utf8))
        }
        let key = isCopy ? material.strangerKey : material.proofKey
        let proof = TestProof(by: key, for: SampleApps.tokenEndpoint, at: material.now)
        let token = try BentToken(proof.header, proof.claims, by: proof.key, &random)
        let isProved = !isCopy && token.proves(proof.key, at: material.now)
        let (bendsForm, isRepeated) = (random.oneIn(4), random.oneIn(8))
        if bendsForm { form.mutate(&random) }
        var message = FuzzMessage(form)
        if showsKey { message.add("DPoP", token.octets) }
        if showsKey, isRepeated { message.add("DPoP", token.octets) }
        return FuzzedRequest(
            number, message, at: .http1,
            .init(
                // A bent form can name a client without DPoP. A refresh may also fail: its grant can be dead.
                mustBeRefused: !bendsForm && (isRepeated || !isProved),
                mustSucceed: !bendsForm && !isRepeated && !isRefresh && token.isGood,
                mustBeBound: !bendsForm && isProved && !isRepeated, subjects: [login.subject],
                provenKey: isProved && !isRepeated ? TestProof.thumbprint(of: proof.key) : nil))
    }
}
