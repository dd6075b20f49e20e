import BrokerHarness
import Foundation
import Testing

struct BuildProductsTests {
    @Test(arguments: ["native-sso", "native-sso-dev", "native-sso-bench"])
    func everyProgramLiesBesideThisOne(_ program: String) throws {
        #expect(try BuildProducts.path(of: program).hasSuffix("/\(program)"))
    }

    @Test func aMissingProgramIsNamed() {
        let missing = #expect(throws: BuildProducts.Missing.self) {
            try BuildProducts.path(of: "native-sso", in: "/nonexistent")
        }
        #expect(missing?.description.hasPrefix("there is no /nonexistent/native-sso: build") == true)
    }
}
