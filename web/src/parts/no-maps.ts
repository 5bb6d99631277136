/** In place of d3-geo: Plot could draw maps, this page has none, and would carry 55 KB for them. */

const none = (): object => ({});

export {
  none as geoAlbers,
  none as geoAlbersUsa,
  none as geoArea,
  none as geoAzimuthalEqualArea,
  none as geoAzimuthalEquidistant,
  none as geoBounds,
  none as geoCentroid,
  none as geoCircle,
  none as geoClipRectangle,
  none as geoConicConformal,
  none as geoConicEqualArea,
  none as geoConicEquidistant,
  none as geoContains,
  none as geoDistance,
  none as geoEqualEarth,
  none as geoEquirectangular,
  none as geoGnomonic,
  none as geoGraticule,
  none as geoGraticule10,
  none as geoInterpolate,
  none as geoLength,
  none as geoMercator,
  none as geoOrthographic,
  none as geoPath,
  none as geoStereographic,
  none as geoStream,
  none as geoTransform,
  none as geoTransverseMercator,
};
