import BrokerHarness

/// Looks into the body of an answer without making values of it: the generator must cost little beside what it measures.
enum TokenAnswer {
    /// Whether it has the members that every answer has. RFC 6749 §5.1, RFC 8693 §2.2.1.
    static func isComplete(_ body: UnsafeRawBufferPointer, _ type: TokenType = .bearer) -> Bool {
        let members: [StaticString] = [
            #""access_token":"ey"#, type.member, #""expires_in":"#, #""scope":""#, #""refresh_token":"nsr1."#,
        ]
        return body.last == UInt8(ascii: "}") && members.allSatisfy { Octets.position(of: $0, in: body) != nil }
    }

    /// No token holds a quotation mark or a backslash.
    static func refreshToken(in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        text(behind: #""refresh_token":""#, in: body)
    }

    static func accessToken(in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        text(behind: #""access_token":""#, in: body)
    }

    private static func text(behind member: StaticString, in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let start = Octets.position(of: member, in: body) else { return nil }
        let end = body[start...].firstIndex(of: UInt8(ascii: "\"")) ?? body.count
        return UnsafeRawBufferPointer(rebasing: body[start..<end])
    }
}

/// What an access token is good for. RFC 6750; RFC 9449 §5.
enum TokenType: Sendable {
    case bearer
    case proofOfPossession

    var member: StaticString {
        switch self {
        case .bearer: #""token_type":"Bearer""#
        case .proofOfPossession: #""token_type":"DPoP""#
        }
    }
}
