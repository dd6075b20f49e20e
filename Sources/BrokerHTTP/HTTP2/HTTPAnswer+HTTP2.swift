import NIOHPACK
import NIOHTTP1

extension HTTPAnswer {
    /// The head of the answer as it travels. RFC 9113 §8.3.2.
    func block(date: String) -> HPACKHeaders {
        var block: HPACKHeaders = [":status": String(status.code)]
        forEachField(date: date) { name, value in block.add(name: name.lowercased(), value: value) }
        return block
    }
}
