import StrictCoding
import Testing

@testable import NativeSSO

@Suite struct CopiedClaimsTests {
    private func copy(_ names: [String], of json: String) throws -> (claims: CopiedClaims, leftOut: [String]) {
        CopiedClaims.copy(names, of: try #require(try JSONReader.parse(json.utf8).object))
    }

    /// The order is that of the list. A number keeps its digits: as a float, the large one would change.
    @Test func valuesStayAsTheyAre() throws {
        let (claims, leftOut) = try copy(
            ["roles", "level", "absent", "email"],
            of: #"{"email":"ä\u0000\"@b", "level": 9007199254740993 ,"other":1,"roles":{"a":[null,true,-1.50]}}"#)
        #expect(claims.text == #"{"roles":{"a":[null,true,-1.50]},"level":9007199254740993,"email":"ä\u0000\"@b"}"#)
        #expect(leftOut.isEmpty)
        #expect(CopiedClaims(text: try #require(claims.text)) == claims)
        #expect(try copy(["absent"], of: "{}").claims.text == nil)
    }

    @Test func whatExceedsTheSizeIsLeftOut() throws {
        let room = 2048 - #"{"a":"","c":1}"#.utf8.count
        for (length, fits) in [(room, true), (room + 1, false)] {
            let long = String(repeating: "x", count: length)
            let (claims, leftOut) = try copy(["a", "b", "c"], of: #"{"a":"\#(long)","b":"\#(long)","c":1}"#)
            #expect(claims.object.names == (fits ? ["a", "c"] : ["a"]))
            #expect(leftOut == (fits ? ["b"] : ["b", "c"]))
        }
    }

    /// The database cannot make an access token say what the broker says.
    @Test(arguments: ["sub", "aud", "scope", "scp", "client_id", "session_id", "cnf", "act", "exp", "idp", "sid"])
    func theBrokersOwnClaimsAreNeverCopied(name: String) throws {
        #expect(CopiedClaims.isReserved(name) && !CopiedClaims.isReserved(name + "s"))
        #expect(try copy([name], of: #"{"\#(name)":"forged"}"#).claims.text == nil)
        #expect(CopiedClaims(text: #"{"\#(name)":"forged"}"#) == nil)
    }

    @Test(arguments: ["", "7", "[]", "{", #"{"a":1,"a":2}"#])
    func isNoObject(text: String) { #expect(CopiedClaims(text: text) == nil) }
}
